import { existsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseEnv } from "node:util";
import { readTextFile } from "../../faults/textFile";
import type { Variables } from "./variables";

/** The variables of a `.env` file. Throws `UnreadableInput`. */
export function readDotenv(file: string): Variables {
  // A byte order mark would become a part of the first variable's name.
  return parseEnv(readTextFile(file).replace(/^\ufeff/, ""));
}

/** The `.env` at the root of the repository that a folder is in, or of the folder itself where it is in none. */
export function repositoryDotenv(folder: string): string | undefined {
  const start = resolve(folder);
  let root = start;
  while (!existsSync(join(root, ".git"))) {
    const parent = dirname(root);
    if (parent === root) {
      root = start;
      break;
    }
    root = parent;
  }
  const file = join(root, ".env");
  // Some keep a virtual environment in a folder of that name.
  return statSync(file, { throwIfNoEntry: false })?.isFile() === true ? file : undefined;
}
