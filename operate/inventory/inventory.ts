import { Failed } from "../../commandLine/exit";
import { type Ran, run } from "../../commandLine/run";
import { type MachinePlan, serversOn } from "../../components/plan";
import type { Evidence } from "../../components/planned";
import { LABEL } from "../../components/planned";
import type { MachineSettings } from "../../components/settings";
import { defined } from "../../faults/defined";
import { HERE } from "../../machines/address";
import { type ContainerState, readContainers } from "../../machines/docker/containers";
import { docker } from "../../machines/docker/docker";
import { homeOn, onMachine } from "../../machines/home";
import { type CommandPlace, commandOn } from "../../machines/onMachine";
import { parseVersions, READ_VERSIONS, versionsInside } from "../pin/readImage";
import { recordEdits, shortDigest } from "../pin/writePin";
import { hostOf } from "../sees/host";
import type { Edit } from "../stackEdit/applyEdits";

/** Which versions run on a machine. */
export interface Inventory {
  readonly machine: string;
  readonly containers: readonly ContainerEntry[];
  readonly venvs: readonly VenvEntry[];
  /**
   * What the stack file should record of the versions that were read, if it records something else.
   */
  readonly record: readonly Edit[];
  /** What could not be read, and why. */
  readonly problems: readonly string[];
}

/** A container and what is in it. */
interface ContainerEntry extends Pick<ContainerState, "name" | "image" | "status" | "ports"> {
  /** `sha256:<64 hex>` of the image in its registry, "" for one that was never in a registry. */
  readonly digest: string;
  /** Whether this stack declares it. */
  readonly ours: boolean;
  /** Read inside the image of our inference servers; `null` where nothing was looked for. */
  readonly versions: RecordedVersions | null;
  /** What the start gate of our server says, while the server isn't started. */
  readonly startGate?: string;
}

/** A Python environment; `problem` says why its versions could not be read. */
interface VenvEntry {
  readonly path: string;
  readonly versions: RecordedVersions;
  readonly problem?: string;
}

/** Packages whose versions are recorded everywhere (specification, Versioning 5). */
type RecordedVersions = Readonly<Record<"torch" | "vllm" | "transformers", string>>;

const ANSWER_WITHIN_SECONDS = 15;

/**
 * Reads which versions run where. Nothing is changed; an image is looked into by a short-lived
 * container of its own.
 */
export async function inventory(
  machine: MachinePlan,
  settings: MachineSettings,
  evidence: Evidence,
): Promise<Inventory> {
  const problems: string[] = [];
  const containers = await allContainers(machine, problems);
  const venvs: VenvEntry[] = [];
  for (const path of settings.venvs)
    venvs.push(
      await readVenv(onMachine(path, { home: homeOn(settings, evidence) }), READ_SECONDS, machine),
    );
  problems.push(...venvs.flatMap(({ problem }) => problem ?? []));
  const record = differingRecords(machine, settings, containers);
  return { machine: machine.name, containers, venvs, record, problems };
}

async function allContainers(machine: MachinePlan, problems: string[]): Promise<ContainerEntry[]> {
  return orProblem([], problems, "", async () => {
    const states = await readContainers(machine.dockerHost);
    const digests = await digestsOf(states, machine.dockerHost);
    const entries: ContainerEntry[] = [];
    for (const state of states) entries.push(await entryOf(state, machine, digests, problems));
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  });
}

/** What is read, or what stands for it where it can't be, which is noted. */
async function orProblem<Found>(
  without: Found,
  problems: string[],
  of: string,
  read: () => Promise<Found>,
) {
  return read().catch((error: unknown) => {
    if (!(error instanceof Failed)) throw error;
    problems.push(`${of}${error.message}`);
    return without;
  });
}

async function entryOf(
  state: ContainerState,
  { name: ours, dockerHost, ...machine }: MachinePlan,
  digests: ReadonlyMap<string, string>,
  problems: string[],
): Promise<ContainerEntry> {
  const { name, image, imageId, status, ports, labels } = state;
  const isServer = serversOn(machine).some(({ container }) => container.name === name);
  // The image's own id is started, so nothing is pulled and no tag can have moved.
  const inside = async () => recorded(await versionsInside(imageId, dockerHost));
  return {
    ...{ name, image },
    digest: digests.get(imageId) ?? "",
    ...{ status, ports },
    ours: labels[LABEL.machine] === ours,
    versions: isServer ? await orProblem(recorded({}), problems, `${name}: `, inside) : null,
    ...defined({ startGate: isServer ? await hostOf(dockerHost).gateSays(state) : undefined }),
  };
}

/** Registry digests by image id. */
async function digestsOf(
  states: readonly ContainerState[],
  dockerHost: string,
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(states.map(({ imageId }) => imageId))];
  if (ids.length === 0) return new Map();
  const lines = await docker(
    ["image", "inspect", "--format", "{{.Id}} {{json .RepoDigests}}", ...ids],
    ANSWER_WITHIN_SECONDS,
    dockerHost,
  );
  const entries = lines.split("\n").flatMap((line): [string, string][] => {
    const [, id, digest] = /^(\S+) \["[^"@]*@(sha256:[0-9a-f]{64})"/.exec(line) ?? [];
    return id === undefined || digest === undefined ? [] : [[id, digest]];
  });
  return new Map(entries);
}

/**
 * The stack file keeps the versions of an image beside its digest, so only what was read of that
 * digest is recorded.
 */
function differingRecords(
  machine: MachinePlan,
  settings: MachineSettings,
  containers: readonly ContainerEntry[],
) {
  return machine.inferenceServers.flatMap(({ key, container, imageRecord }) => {
    const found = containers.find(({ name }) => name === container.name);
    const { versions } = found ?? {};
    if (found === undefined || versions === undefined || versions === null) return [];
    if (found.digest !== imageRecord.digest || versions.vllm === MISSING) return [];
    const held = settings.inferenceServers[key]?.versions;
    const { digest } = found;
    const same =
      held?.evidence === "read" &&
      held.digest === digest &&
      held.vllm === versions.vllm &&
      held.transformers === versions.transformers;
    if (same) return [];
    const path = ["machines", machine.name, "inferenceServers", key];
    const { vllm, transformers } = versions;
    const read = {
      vllm,
      transformers,
      evidence: "read",
      digest,
      source: `serving inventory, ${shortDigest(digest)}`,
    };
    // What was read of another image goes with it.
    const stale =
      held?.platformDigest !== undefined && held.digest !== digest
        ? { platformDigest: undefined }
        : {};
    const edits = recordEdits(path, { ...read, ...stale });
    return edits.filter(({ value }) => value !== MISSING);
  });
}

/** Shown in place of a version if the package is not installed. */
const MISSING = "MISSING";

/**
 * Starting an interpreter takes under a second; a network mount that hangs must not hold the
 * command up.
 */
const READ_SECONDS = 20;
const LARGEST_ANSWER = 64 * 1024;

/** Versions installed in a Python environment. */
export async function readVenv(
  path: string,
  seconds = READ_SECONDS,
  machine: CommandPlace = { dockerHost: HERE },
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
const recorded = ({
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
  if (stopped === "output") return `${python} failed: it prints without an end`;
  return code === 0
    ? `${python} printed something other than versions`
    : `${python} failed (exit code ${String(code)})`;
}
