import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { parse, stringify } from "yaml";

export type StackConfig = Readonly<Record<string, unknown>>;

/**
 * Writes the `config:` of a stack file and keeps the engine's own keys, such as the salt of its
 * secrets.
 */
export function writeStackFile(file: string, config: StackConfig): void {
  const before = existsSync(file)
    ? (parse(readFileSync(file, "utf8")) as Record<string, unknown>)
    : {};
  writeFileSync(file, stringify({ ...before, config }));
}
