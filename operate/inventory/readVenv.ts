import { execFile } from "node:child_process";
import { parseVersions, READ_VERSIONS } from "../pin/readImage";

/** Packages whose versions are recorded everywhere (specification, Versioning 5). */
export const RECORDED = ["torch", "vllm", "transformers"] as const;

/** What stands where a package is not installed. */
export const MISSING = "MISSING";

export type RecordedVersions = Readonly<Record<(typeof RECORDED)[number], string>>;

export interface VenvReading {
  readonly path: string;
  readonly versions: RecordedVersions;
  /** Why nothing could be read. */
  readonly problem?: string;
}

/** Starting an interpreter takes under a second; a network mount that hangs must not hold the command up. */
const READ_SECONDS = 20;
const LARGEST_ANSWER_BYTES = 64 * 1024;

/** Versions installed in a Python environment, from package metadata: nothing is imported. */
export function readVenv(path: string): Promise<VenvReading> {
  return new Promise((resolve) => {
    execFile(
      `${path}/bin/python`,
      // -I: neither the user's own packages nor the variables of this shell have a say.
      ["-I", "-c", READ_VERSIONS],
      { timeout: READ_SECONDS * 1000, killSignal: "SIGKILL", maxBuffer: LARGEST_ANSWER_BYTES },
      (error, stdout) => {
        const versions = error === null ? parseVersions(stdout) : undefined;
        if (versions !== undefined) return resolve({ path, versions: recorded(versions) });
        resolve({ path, versions: recorded({}), problem: problemOf(path, error) });
      },
    );
  });
}

/** The recorded packages out of those that were found. */
export function recorded(found: Readonly<Record<string, string>>): RecordedVersions {
  const version = (name: string) => found[name] ?? MISSING;
  return { torch: version("torch"), vllm: version("vllm"), transformers: version("transformers") };
}

function problemOf(path: string, error: Error | null): string {
  if (error === null) return `${path}/bin/python printed something else than versions`;
  if ("code" in error && error.code === "ENOENT") return `there is no ${path}/bin/python`;
  if ("killed" in error && error.killed === true)
    return `${path}/bin/python gave no answer within ${READ_SECONDS} s`;
  if ("code" in error && error.code === "EACCES") return `no right to run ${path}/bin/python`;
  return `${path}/bin/python failed`;
}
