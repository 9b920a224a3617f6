import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

/** The project's folder, wherever the command is run from: the nearest one above this code with a package.json. */
export function projectRoot(): string {
  let folder = __dirname;
  while (!existsSync(join(folder, "package.json"))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error("the command line is not inside its project");
    folder = parent;
  }
  return folder;
}
