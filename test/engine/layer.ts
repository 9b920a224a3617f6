import { existsSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { delimiter, join } from "node:path";
import { installedPulumi } from "../../cli/engine/findPulumi";
import { pulumiHome } from "../../cli/stack/selectedStack";
import { run } from "../layers/run";

export type EngineLayer =
  | { readonly missing: string }
  | {
      readonly missing?: undefined;
      readonly pulumi: string;
      readonly version: string;
      /** Folder of plugins, shared by the workspaces. */
      readonly plugins: string;
    };

/** Provider plugins of the stack; their versions are those of the npm packages. */
const PLUGINS = ["docker", "command"];

/**
 * Finds the CLI and sees to its plugins, in a home of their own: what the person at the keyboard
 * has installed is linked there, and what is missing is installed there.
 */
export async function findEngine(home: string): Promise<EngineLayer> {
  const pulumi = installedPulumi(process.env);
  const own = pulumiHome(process.env);
  if (pulumi === undefined) return { missing: `no pulumi on PATH or in ${join(own, "bin")}` };
  const env = { PULUMI_HOME: home, PULUMI_SKIP_UPDATE_CHECK: "true" };
  const { code, stdout, stderr } = await run(pulumi, ["version"], { env });
  if (code !== 0) return { missing: `${pulumi} does not run (${stderr.trim().split("\n")[0]})` };
  const plugins = join(home, "plugins");
  mkdirSync(plugins, { recursive: true });
  for (const name of PLUGINS) {
    const version = (require(`@pulumi/${name}/package.json`) as { version: string }).version;
    if (isOnPath(`pulumi-resource-${name}`)) continue;
    const folder = `resource-${name}-v${version}`;
    if (linkFiles(join(own, "plugins", folder), join(plugins, folder))) continue;
    const args = ["bundle/plugin", "install", "resource", name, version, "--exact"];
    const installed = await run(pulumi, args, { env, limitSeconds: 180 });
    if (installed.code === 0) continue;
    const reason = installed.stderr.trim().split("\n").at(-1);
    return { missing: `no plugin pulumi-resource-${name} v${version} (${reason})` };
  }
  return { pulumi, version: stdout.trim(), plugins };
}

/** Links the files of a folder one by one, since the engine takes no link for a plugin's folder. */
function linkFiles(from: string, to: string): boolean {
  if (!existsSync(from)) return false;
  mkdirSync(to);
  for (const file of readdirSync(from)) symlinkSync(join(from, file), join(to, file));
  return true;
}

function isOnPath(program: string): boolean {
  const folders = (process.env.PATH ?? "").split(delimiter).filter(Boolean);
  return folders.some((folder) => existsSync(join(folder, program)));
}
