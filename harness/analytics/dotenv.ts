import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseEnv } from "node:util";
import { readTextFile } from "../../faults/textFile";
import type { Variables } from "./variables";

/** The variables of a `.env` file. Throws `UnreadableInput`. */
export function readDotenv(file: string): Variables {
  return parseEnv(readTextFile(file));
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
  return existsSync(file) ? file : undefined;
}
