import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { temporaryFolder } from "../layers/temporaryFolder";
import { installed } from "../package/packed";
import { Workspace } from "./workspace";

const PROJECT = resolve(__dirname, "../..");
const SDK = join(PROJECT, "node_modules");

/**
 * A workspace with somebody's program, in which our package is installed. `program` is a folder of
 * docs/examples/, and `files` replace some of it.
 */
export async function openForeign(
  tarball: string,
  program: string,
  files: Readonly<Record<string, string>>,
): Promise<Workspace> {
  const folder = temporaryFolder("foreign-");
  cpSync(join(PROJECT, "docs/examples", program), folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const workspace = await Workspace.open({ program: folder });
  rmSync(join(workspace.project, "node_modules"));
  await installed(tarball, workspace.project);
  return workspace;
}

/**
 * Gives a program an SDK of its own: another copy than the package has, as where npm couldn't take
 * one for both.
 */
export function giveOwnSdk({ project }: Workspace): void {
  const modules = join(project, "node_modules");
  const scope = join(modules, "@pulumi");
  const own = join(modules, "local-serving/node_modules");
  mkdirSync(own);
  symlinkSync(join(SDK, "@pulumi"), join(own, "@pulumi"));
  rmSync(scope);
  mkdirSync(scope);
  for (const name of readdirSync(join(SDK, "@pulumi")))
    if (name === "pulumi")
      cpSync(join(SDK, "@pulumi", name), join(scope, name), { recursive: true });
    else symlinkSync(join(SDK, "@pulumi", name), join(scope, name));
  // What the SDK itself needs.
  for (const name of readdirSync(SDK))
    if (!["@pulumi", "local-serving", "typescript"].includes(name) && !name.startsWith("."))
      symlinkSync(join(SDK, name), join(modules, name));
}
