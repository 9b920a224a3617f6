import { mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";

const MODULES = resolve(__dirname, "../../node_modules");
/** Where npm links the packages of the workspace. */
const OWN = "@local-serving";

/** Gives a copy of this checkout its node_modules: its own packages, and links to all others. */
export function linkModules(copy: string): void {
  const modules = join(copy, "node_modules");
  mkdirSync(modules);
  for (const name of readdirSync(MODULES))
    if (name !== OWN) symlinkSync(join(MODULES, name), join(modules, name));
  symlinkSync(join(copy, "packages"), join(modules, OWN));
}
