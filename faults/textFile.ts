import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { UnreadableInput } from "./fault";

/** Largest configuration file that is read, in bytes; a larger one is most likely not the file that was meant. */
export const LARGEST_FILE_BYTES = 4 * 1024 * 1024;

const CHUNK_BYTES = 64 * 1024;

/** Reads a text file of bounded size. Throws `UnreadableInput` when it is missing, a folder, too large or not UTF-8. */
export function readTextFile(file: string): string {
  let handle: number;
  try {
    handle = openSync(file, "r");
  } catch (error) {
    throw new UnreadableInput(file, readFailure(error));
  }
  try {
    if (fstatSync(handle).isDirectory()) throw new UnreadableInput(file, "is a directory, not a file");
    return decode(file, readBounded(file, handle));
  } catch (error) {
    if (error instanceof UnreadableInput) throw error;
    throw new UnreadableInput(file, readFailure(error));
  } finally {
    closeSync(handle);
  }
}

function readBounded(file: string, handle: number): Buffer {
  const chunks: Buffer[] = [];
  let total = 0;
  for (;;) {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    const read = readSync(handle, chunk, 0, CHUNK_BYTES, null);
    if (read === 0) return Buffer.concat(chunks);
    total += read;
    if (total > LARGEST_FILE_BYTES) {
      const limit = LARGEST_FILE_BYTES / 1024 / 1024;
      throw new UnreadableInput(file, `is larger than ${limit} MiB, too large for a configuration file`);
    }
    chunks.push(chunk.subarray(0, read));
  }
}

function decode(file: string, bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UnreadableInput(file, "is not UTF-8 text");
  }
}

/** Why a file could not be read, in words. */
export function readFailure(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === "ENOENT") return "no such file";
  if (code === "EACCES") return "no permission to read it";
  if (code === "EISDIR") return "is a directory, not a file";
  return error instanceof Error ? error.message : String(error);
}
