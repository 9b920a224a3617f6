import { randomBytes } from "node:crypto";
import { type Ran, run } from "@local-serving/base/commandLine/run";
import { Failed } from "@local-serving/base/faults/fault";
import { isRecord, jsonIn } from "@local-serving/base/faults/json";
import { HERE } from "@local-serving/machines/address";
import { docker } from "@local-serving/machines/docker/docker";
import { type CommandPlace, commandOn } from "@local-serving/machines/onMachine";
import { READ_VERSIONS } from "@local-serving/vllm/argv/versionReadings";

/** A Python environment; `problem` says why its versions could not be read. */
export interface VenvEntry {
  readonly path: string;
  readonly versions: RecordedVersions;
  readonly problem?: string;
}

/** Packages whose versions are recorded everywhere (specification, Versioning 5). */
export type RecordedVersions = Readonly<Record<"torch" | "vllm" | "transformers", string>>;

/**
 * Starting the interpreter in a fresh container of a 20 GB image can take a while on a cold disk.
 */
const READ_TIMEOUT_SECONDS = 300;

/**
 * Package versions inside an image that is already here, read in one short-lived container without
 * network.
 */
export async function versionsInside(
  image: string,
  dockerHost?: string,
): Promise<Record<string, string>> {
  const name = `local-serving-versions-${randomBytes(4).toString("hex")}`;
  const isolated = ["--rm", "--network", "none", "--name", name];
  const run = ["run", ...isolated, "--entrypoint", "python3", image, "-c", READ_VERSIONS];
  const printed = await docker(run, dockerHost, READ_TIMEOUT_SECONDS).catch(
    async (error: unknown) => {
      // A client that gave up leaves its container running.
      await docker(["rm", "--force", name], dockerHost).catch(() => {});
      throw error;
    },
  );
  const versions = parseVersions(printed);
  if (versions === undefined) throw new Failed(`${image}: the versions inside could not be read.`);
  return versions;
}

/** What `READ_VERSIONS` printed; `undefined` when it is something else. */
function parseVersions(printed: string): Record<string, string> | undefined {
  const found = jsonIn(printed);
  if (!isRecord(found)) return undefined;
  return Object.fromEntries(
    Object.entries(found).map(([name, version]) => [name, String(version)]),
  );
}

/** Shown in place of a version if the package is not installed. */
export const MISSING = "MISSING";

/**
 * Starting an interpreter takes under a second; a network mount that hangs must not hold the
 * command up.
 */
const READ_SECONDS = 20;
const LARGEST_ANSWER = 64 * 1024;

/** Versions installed in a Python environment. */
export async function readVenv(
  path: string,
  machine: CommandPlace = { dockerHost: HERE },
  seconds = READ_SECONDS,
): Promise<VenvEntry> {
  const python = `${path}/bin/python`;
  // -I: neither the user's own packages nor the variables of this shell have a say.
  const ran = await run(commandOn(machine, [python, "-I", "-c", READ_VERSIONS]), {
    seconds,
    largest: LARGEST_ANSWER,
  });
  const versions = ran.code === 0 ? parseVersions(ran.out) : undefined;
  if (versions !== undefined) return { path, versions: recorded(versions) };
  return { path, versions: recorded({}), problem: problemText(python, ran, seconds) };
}

/** The versions that are recorded, out of all that were found. */
export const recorded = ({
  torch = MISSING,
  vllm = MISSING,
  transformers = MISSING,
}: Readonly<Record<string, string>>): RecordedVersions => ({ torch, vllm, transformers });

function problemText(python: string, { code, notStarted, stopped }: Ran, seconds: number): string {
  // By these codes a shell says the same, as it does at the other end of ssh.
  if (notStarted === "ENOENT" || code === 127) return `there is no ${python}`;
  if (notStarted === "EACCES" || code === 126) return `no right to run ${python}`;
  if (notStarted !== undefined) return `${python} ${notStarted}`;
  if (stopped === "timeout") return `${python} gave no answer within ${seconds} s`;
  if (stopped === "output") return `${python} failed: it doesn't stop printing`;
  return code === 0
    ? `${python} printed something other than versions`
    : `${python} failed (exit code ${String(code)})`;
}
