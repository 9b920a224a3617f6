import { readFileSync } from "node:fs";

/** A shell script of ours without its comments, as it travels to a machine. */
export function scriptText(path: string): string {
  return readFileSync(path, "utf8").replace(/^ *#.*\n/gm, "");
}
