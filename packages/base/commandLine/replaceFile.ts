import { randomBytes } from "node:crypto";
import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { UnreadableInput } from "../faults/fault";

/**
 * Mode of a configuration file that did not exist: only its owner needs to read what a harness
 * runs.
 */
const NEW_FILE_MODE = 0o600;

/**
 * Replaces a file's text in one step, so that a reader sees the old text or the new. Mode and
 * symlink are kept.
 */
export function replaceFile(
  file: string,
  text: string,
  { newFileMode = NEW_FILE_MODE } = {},
): void {
  const target = realTarget(file);
  const mode = modeOf(target) ?? newFileMode;
  withNeighbour(target, text, mode, (neighbour) => renameSync(neighbour, target));
}

/**
 * Makes a file with all of its text in one step. Returns `false`, and touches nothing, when there
 * is one already.
 */
export function createFile(
  file: string,
  text: string,
  { newFileMode = NEW_FILE_MODE } = {},
): boolean {
  let created = false;
  withNeighbour(file, text, newFileMode, (neighbour) => {
    try {
      // link, unlike rename, never replaces: of two writers at once one fails.
      linkSync(neighbour, file);
      created = true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  });
  return created;
}

/**
 * Writes the text to a new file in the same folder (a rename must not cross file systems), then
 * places it.
 */
function withNeighbour(
  target: string,
  text: string,
  mode: number,
  place: (path: string) => void,
): void {
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
  const neighbour = join(
    dirname(target),
    `.${basename(target)}.${randomBytes(6).toString("hex")}.tmp`,
  );
  const handle = openSync(neighbour, "wx", mode);
  try {
    try {
      writeFileSync(handle, text);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    chmodSync(neighbour, mode);
    place(neighbour);
  } finally {
    rmSync(neighbour, { force: true });
  }
}

function realTarget(file: string): string {
  try {
    return realpathSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return file;
    throw error;
  }
}

function modeOf(file: string): number | undefined {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found?.isFile() === false)
    throw new UnreadableInput(file, "not a regular file, so it stays as it is");
  return found === undefined ? undefined : found.mode & 0o7777;
}
