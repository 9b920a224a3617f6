import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, join } from "node:path";

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
  withServing(join(directory, "bin"));
  process.once("exit", () =>
    rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }),
  );
}

/**
 * Puts a `serving` on PATH that nobody is meant to run: texts name our commands by that word alone
 * then, on every computer.
 */
function withServing(folder: string): void {
  mkdirSync(folder);
  writeFileSync(join(folder, "serving"), "#!/bin/sh\nexit 127\n", { mode: 0o755 });
  process.env.PATH = [process.env.PATH, folder].filter(Boolean).join(delimiter);
}
