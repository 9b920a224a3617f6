import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
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

/** Pipes of a shell, such as `<(COMMAND)` and /dev/stdin: somebody writes into them already. */
const OPEN_PIPE = /^\/(?:dev|proc)\//;

function readAtMost(file: string, limit: number): Buffer {
  if (statSync(file).isFIFO() && !OPEN_PIPE.test(file))
    throw new Error("is a named pipe, which may block forever: give a file, or `<(COMMAND)`");
  const descriptor = openSync(file, "r");
  try {
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
  } finally {
    closeSync(descriptor);
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
