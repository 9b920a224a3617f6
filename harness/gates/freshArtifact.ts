import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, unlinkSync } from "node:fs";
import { containedArtifact } from "../automation/artifactPath";

/** Largest artifact that is read, in bytes: tracefiles of very large projects are some ten MiB. */
const LARGEST_ARTIFACT_BYTES = 128 * 1024 * 1024;

/**
 * How much older than the start of the run a file's time may be, in milliseconds: file systems keep coarser times than
 * the clock, FAT with its two seconds the coarsest.
 */
const CLOCK_TOLERANCE_MS = 2000;

/** An artifact of a command, which is only believed when this run has written it. */
export interface FreshArtifact {
  /** Reads what the command wrote, after resolving its path again; `fault` says why it doesn't count. */
  read(): { readonly text: string } | { readonly fault: string };
}

/**
 * Removes an artifact before its command runs, so that what is there afterwards is new. Symlinks are resolved first:
 * nothing outside the root is deleted.
 */
export function removeStaleArtifact(root: string, path: string): FreshArtifact | { readonly fault: string } {
  const place = containedArtifact(root, path);
  if ("fault" in place) return { fault: `artifact ${path} ${place.fault}` };
  const before = lstatSync(place.file, { throwIfNoEntry: false });
  if (before !== undefined) {
    try {
      unlinkSync(place.file);
    } catch (error) {
      return { fault: `the artifact ${path} of an earlier run can't be removed: ${message(error)}` };
    }
  }
  const start = Date.now();
  return { read: () => readFresh(root, path, start) };
}

function readFresh(root: string, path: string, start: number): { text: string } | { fault: string } {
  const place = containedArtifact(root, path);
  if ("fault" in place) return { fault: `after the command, artifact ${path} ${place.fault}` };
  const found = lstatSync(place.file, { throwIfNoEntry: false });
  if (found === undefined) return { fault: `the command wrote no artifact at ${path}` };
  if (!found.isFile()) return { fault: `what the command left at ${path} isn't a regular file` };
  try {
    // A file could be exchanged for a link or a pipe since the look above.
    const descriptor = openSync(place.file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const { size, mtimeMs } = fstatSync(descriptor);
      if (size > LARGEST_ARTIFACT_BYTES)
        return { fault: `artifact ${path} is larger than ${LARGEST_ARTIFACT_BYTES} bytes` };
      if (mtimeMs < start - CLOCK_TOLERANCE_MS) {
        return { fault: `artifact ${path} is older than this run, so the run did not produce it` };
      }
      return { text: readFileSync(descriptor, "utf8") };
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    return { fault: `artifact ${path} can't be read: ${message(error)}` };
  }
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
