import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  unlinkSync,
} from "node:fs";
import type { LedgerLog } from "../app/ledger";
import { type BoundedCommand, failureOf, runBounded, type Supervisor } from "../app/supervisor";
import { containedArtifact } from "../automation/artifactPath";

/** Largest artifact that is read, in bytes: tracefiles of very large projects are some ten MiB. */
const LARGEST_ARTIFACT_BYTES = 128 * 1024 * 1024;

/**
 * How much older than the start of the run a file's time may be, in milliseconds: file systems keep
 * coarser times than the clock, FAT with its two seconds the coarsest.
 */
const CLOCK_TOLERANCE_MS = 2000;

/** The text of an artifact, or why it doesn't count. */
type ArtifactText = { readonly text: string } | { readonly fault: string };

/**
 * Runs a gate's command and reads the artifact that this very run has written. What an earlier one
 * left is removed first, with symlinks resolved, then and again behind the command: nothing outside
 * the root is deleted or read. Whether the command was interrupted is the caller's to say.
 */
export async function artifactOf(
  gate: "coverage" | "visual",
  {
    artifact: path,
    timeout_sec: timeoutSec,
  }: { readonly artifact: string; readonly timeout_sec: number },
  command: Omit<BoundedCommand, "timeoutSec" | "streams">,
  { log, supervisor }: { readonly log: LedgerLog; readonly supervisor?: Supervisor | undefined },
): Promise<ArtifactText> {
  const place = containedArtifact(command.cwd, path);
  if ("fault" in place) return { fault: `artifact ${path} ${place.fault}` };
  try {
    if (lstatSync(place.file, { throwIfNoEntry: false }) !== undefined) unlinkSync(place.file);
  } catch (error) {
    return { fault: `the artifact ${path} of an earlier run can't be removed: ${message(error)}` };
  }
  const start = Date.now();
  const end = await runBounded({ ...command, timeoutSec, streams: log.streams }, supervisor);
  const failure = failureOf(end, timeoutSec);
  if (failure === undefined) return readFresh(command.cwd, path, start);
  const output = end.notStarted === undefined ? `; its output is in ${log.file}` : "";
  return { fault: `the ${gate} command ${failure}${output}` };
}

function readFresh(root: string, path: string, start: number): ArtifactText {
  const place = containedArtifact(root, path);
  if ("fault" in place) return { fault: `after the command, artifact ${path} ${place.fault}` };
  const found = lstatSync(place.file, { throwIfNoEntry: false });
  if (found === undefined) return { fault: `the command wrote no artifact at ${path}` };
  if (!found.isFile()) return { fault: `what the command left at ${path} isn't a regular file` };
  try {
    // A file could be exchanged for a link or a pipe since the look above.
    const descriptor = openSync(
      place.file,
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    );
    try {
      const { size, mtimeMs } = fstatSync(descriptor);
      if (size > LARGEST_ARTIFACT_BYTES)
        return { fault: `artifact ${path} is larger than ${LARGEST_ARTIFACT_BYTES} bytes` };
      if (mtimeMs < start - CLOCK_TOLERANCE_MS)
        return { fault: `artifact ${path} is older than this run, so the run did not produce it` };
      return { text: readFileSync(descriptor, "utf8") };
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    return { fault: `artifact ${path} can't be read: ${message(error)}` };
  }
}

const message = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
