import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { run } from "../layers/run";

/** What the tests with the real engine have, or why they have nothing. */
export type EngineLayer =
  | { readonly missing: string }
  | {
      readonly missing?: undefined;
      /** Path of the CLI. */
      readonly pulumi: string;
      readonly version: string;
      /** Folder of installed plugins, shared by the workspaces. */
      readonly plugins: string;
    };

/** Provider plugins of the stack; their versions are those of the npm packages. */
const PLUGINS = ["docker", "command"];

const PULUMI_HOME = process.env.PULUMI_HOME ?? join(homedir(), ".pulumi");

/** Finds the CLI on PATH or in ~/.pulumi/bin, and sees to its plugins. */
export async function findEngine(): Promise<EngineLayer> {
  const pulumi = onPath("pulumi") ?? firstExisting([join(PULUMI_HOME, "bin/pulumi")]);
  if (pulumi === undefined) return { missing: `no pulumi on PATH or in ${join(PULUMI_HOME, "bin")}` };
  const { code, stdout, stderr } = await run(pulumi, ["version"], {
    env: { PULUMI_SKIP_UPDATE_CHECK: "true" },
  });
  if (code !== 0) return { missing: `${pulumi} does not run (${stderr.trim().split("\n")[0]})` };
  const plugins = join(PULUMI_HOME, "plugins");
  mkdirSync(plugins, { recursive: true });
  for (const name of PLUGINS) {
    const missing = await pluginMissing(pulumi, plugins, name);
    if (missing !== undefined) return { missing };
  }
  return { pulumi, version: stdout.trim(), plugins };
}

/** A plugin may lie on PATH, in the cache, or be had from its publisher now. */
async function pluginMissing(pulumi: string, cache: string, name: string): Promise<string | undefined> {
  const version = packageVersion(name);
  if (onPath(`pulumi-resource-${name}`) !== undefined) return undefined;
  if (readdirSync(cache).includes(`resource-${name}-v${version}`)) return undefined;
  const args = ["plugin", "install", "resource", name, version, "--exact"];
  const { code, stderr } = await run(pulumi, args, { limitSeconds: 180 });
  if (code === 0) return undefined;
  return `no plugin pulumi-resource-${name} v${version} (${stderr.trim().split("\n").at(-1)})`;
}

function packageVersion(name: string): string {
  return (require(`@pulumi/${name}/package.json`) as { version: string }).version;
}

function onPath(program: string): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter).filter(Boolean);
  return firstExisting(folders.map((folder) => join(folder, program)));
}

function firstExisting(paths: readonly string[]): string | undefined {
  return paths.find((path) => existsSync(path));
}
