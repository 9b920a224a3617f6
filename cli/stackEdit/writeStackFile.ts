import { readFileSync, realpathSync, statSync } from "node:fs";
import { explainWriting, Failed } from "@local-serving/base/commandLine/exit";
import { replaceFile } from "@local-serving/base/commandLine/replaceFile";
import { parseStackFile } from "../../components/settings";
import { applyEdits, type Edit, unifiedDiff } from "./applyEdits";

/**
 * Writes a changed stack file in one step, with the old text in a backup beside it; returns the
 * backup's path. Throws, and leaves the file as it is, where the new text would not be read, or the
 * file no longer holds the old one.
 */
export function writeStackFile(file: string, before: string, after: string): string {
  parseStackFile(file, after);
  const backup = `${realpathSync(file)}.bak`;
  try {
    replaceFile(backup, before, { newFileMode: statSync(file).mode & 0o777 });
    if (readFileSync(file, "utf8") !== before)
      throw new Failed(`${file} was edited meanwhile: nothing was written.`);
    replaceFile(file, after);
  } catch (error) {
    explainWriting(file, error);
  }
  return backup;
}

/** What was written; both are "" where the file had all of it already. */
export interface WrittenFile {
  readonly diff: string;
  /** Path of the file as it was before. */
  readonly backup: string;
}

/** Makes edits of a stack file's text and writes it as `writeStackFile` does. */
export function editStackFile(file: string, before: string, edits: readonly Edit[]): WrittenFile {
  const after = applyEdits(before, edits);
  const diff = unifiedDiff(file, before, after);
  return { diff, backup: diff === "" ? "" : writeStackFile(file, before, after) };
}
