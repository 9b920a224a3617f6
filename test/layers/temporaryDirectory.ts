import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

const PREFIX = "serving-tests-";

/** Some tests run programs as another user. */
const AS_THE_SYSTEMS = 0o1777;

/**
 * Gives a run one directory for all temporary files, of the tests and of the programs that they
 * start, and removes it at the end of the run, also where it is broken off with Ctrl-C.
 */
export default function setup(): void {
  // Each project of the run comes by here.
  if (basename(tmpdir()).startsWith(PREFIX)) return;
  const directory = mkdtempSync(join(tmpdir(), PREFIX));
  chmodSync(directory, AS_THE_SYSTEMS);
  process.env.TMPDIR = directory;
  process.once("exit", () =>
    rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }),
  );
}
