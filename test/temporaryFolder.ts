import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Runs once before the pure tests: what they and their processes keep in the temporary folder goes when they end. */
export default function setup(): () => void {
  const before = process.env.TMPDIR;
  const folder = mkdtempSync(join(tmpdir(), "serving-tests-"));
  process.env.TMPDIR = folder;
  return () => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    // A test may have left a folder that nobody can write to.
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  };
}
