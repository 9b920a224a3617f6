import { type Ran, run } from "../../commandLine/run";
import { parseVersions, READ_VERSIONS } from "../pin/readImage";

/** Packages whose versions are recorded everywhere (specification, Versioning 5). */
export const RECORDED = ["torch", "vllm", "transformers"] as const;

/** Shown in place of a version if the package is not installed. */
export const MISSING = "MISSING";

export type RecordedVersions = Readonly<Record<(typeof RECORDED)[number], string>>;

export interface VenvReading {
  readonly path: string;
  readonly versions: RecordedVersions;
  readonly problem?: string;
}

/** Starting an interpreter takes under a second; a network mount that hangs must not hold the command up. */
const READ_SECONDS = 20;
const LARGEST_ANSWER = 64 * 1024;

/** Versions installed in a Python environment. */
export async function readVenv(path: string, seconds = READ_SECONDS): Promise<VenvReading> {
  const python = `${path}/bin/python`;
  // -I: neither the user's own packages nor the variables of this shell have a say.
  const ran = await run([python, "-I", "-c", READ_VERSIONS], { seconds, largest: LARGEST_ANSWER });
  const versions = ran.code === 0 ? parseVersions(ran.out) : undefined;
  if (versions !== undefined) return { path, versions: recorded(versions) };
  return { path, versions: recorded({}), problem: problemText(python, ran, seconds) };
}

/** The recorded packages out of those that were found. */
export function recorded(found: Readonly<Record<string, string>>): RecordedVersions {
  const version = (name: string) => found[name] ?? MISSING;
  return { torch: version("torch"), vllm: version("vllm"), transformers: version("transformers") };
}

function problemText(python: string, { code, notStarted, stopped }: Ran, seconds: number): string {
  if (notStarted === "ENOENT") return `there is no ${python}`;
  if (notStarted === "EACCES") return `no right to run ${python}`;
  if (notStarted !== undefined) return `${python} ${notStarted}`;
  if (stopped === "timeout") return `${python} gave no answer within ${seconds} s`;
  if (stopped === "output") return `${python} failed: it prints without an end`;
  return code === 0
    ? `${python} printed something other than versions`
    : `${python} failed (exit code ${String(code)})`;
}
