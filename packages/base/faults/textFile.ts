import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs";
import { UnreadableInput } from "./fault";

/** Largest file that is read as configuration, in bytes: hand-written files are a few KiB. */
const LARGEST_FILE_BYTES = 1024 * 1024;

/**
 * Reads a whole text file of at most `limit` bytes, never more, whatever the file is (a shell's
 * pipe and /dev/zero included). Throws `UnreadableInput` when it can't be read, is larger, or isn't
 * UTF-8 text.
 */
export function readTextFile(file: string, limit: number = LARGEST_FILE_BYTES): string {
  const bytes = readBytes(file, limit);
  try {
    // A byte order mark is kept: not every reader of the file skips it, and a check must be able to
    // say so.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UnreadableInput(file, "is not UTF-8 text");
  }
}

/** A text file of ours, with what is made in the place of each `{{name}}`. */
export const filledFile = (file: string, made: Readonly<Record<string, string>>): string =>
  readTextFile(file).replace(/\{\{(\w+)\}\}/g, (_, name: string) => made[name] ?? "");

/**
 * Reads a whole file of at most `limit` bytes. Throws `UnreadableInput` when it can't be read or is
 * larger.
 */
export function readBytes(file: string, limit: number = LARGEST_FILE_BYTES): Buffer {
  let bytes: Buffer;
  try {
    bytes = readAtMost(file, limit + 1);
  } catch (error) {
    throw new UnreadableInput(file, readFailure(error));
  }
  if (bytes.length > limit)
    throw new UnreadableInput(
      file,
      `is larger than ${limit} bytes; a configuration file is far smaller`,
    );
  return bytes;
}

/** What a shell hands on, `<(COMMAND)` and /dev/stdin: somebody writes into it already. */
const HANDED_ON = /^\/(?:dev\/(?:stdin$|fd\/)|proc\/[^/]+\/fd\/)/;

/** Devices whose reader never waits; each other one may have nothing to say. */
const NEVER_WAITS = /^\/dev\/(?:null|zero|full|u?random)$/;

function readAtMost(file: string, limit: number): Buffer {
  const found = statSync(file);
  if (!HANDED_ON.test(file)) {
    if (found.isFIFO())
      throw new Error("is a named pipe, which may block forever: give a file, or `<(COMMAND)`");
    if (found.isSocket()) throw new Error("is a socket, not a file");
    if (found.isCharacterDevice() && !NEVER_WAITS.test(realpathSync(file)))
      throw new Error("is a device, which may block forever: give a file");
  }
  const descriptor = openSync(file, "r");
  try {
    return contentOf(descriptor, limit);
  } finally {
    closeSync(descriptor);
  }
}

function contentOf(descriptor: number, limit: number): Buffer {
  const size = fstatSync(descriptor).size;
  const chunks: Buffer[] = [];
  let total = 0;
  while (total < limit) {
    const chunk = Buffer.allocUnsafe(Math.min(limit - total, Math.max(size - total, 0) + 4096));
    const read = readSync(descriptor, chunk, 0, chunk.length, null);
    if (read === 0) break;
    chunks.push(chunk.subarray(0, read));
    total += read;
  }
  return Buffer.concat(chunks);
}

/** More bytes than any file has that this program keeps. */
const LARGEST_KEPT_BYTES = 64 * 1024 ** 2;

/**
 * The text of a file that nobody gave us, such as one that this program keeps; `undefined` where it
 * can't be read. What isn't a regular file counts as that: a pipe in its place would keep us waiting,
 * and a device may have no end.
 */
export function keptText(file: string): string | undefined {
  try {
    return ofRegularFile(file, (descriptor, { size }) =>
      size > LARGEST_KEPT_BYTES
        ? undefined
        : contentOf(descriptor, LARGEST_KEPT_BYTES).toString("utf8"),
    );
  } catch {
    return undefined;
  }
}

/**
 * What `read` makes of an open file; `undefined` where it isn't a regular one. Throws where it can't
 * be opened or read.
 */
export function ofRegularFile<T>(
  file: string,
  read: (descriptor: number, state: Stats) => T,
): T | undefined {
  // Another program may put a pipe in the file's place meanwhile: then this open doesn't wait.
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const state = fstatSync(descriptor);
    return state.isFile() ? read(descriptor, state) : undefined;
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Names in a folder; none where it isn't there. Throws `UnreadableInput` for what is no folder, or
 * can't be read.
 */
export function namesInFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return [];
    throw new UnreadableInput(
      folder,
      code === "ENOTDIR" ? "is a file, not a folder" : readFailure(error),
    );
  }
}

/** Why a file could not be read, in words. */
export function readFailure(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === "ENOENT") return "no such file";
  if (code === "EACCES") return "no permission to read it";
  if (code === "EISDIR") return "is a directory, not a file";
  if (code === "ENAMETOOLONG") return "the file name is too long";
  if (code === "ENOTDIR") return "a part of its path is a file, not a directory";
  if (code === "ELOOP") return "its links lead in a circle";
  return error instanceof Error ? error.message : String(error);
}
