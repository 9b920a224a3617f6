import { defined } from "@local-serving/base/faults/defined";
import { Failed } from "@local-serving/base/faults/fault";
import type { ContainerState } from "@local-serving/machines/docker/containers";
import { shortDigest } from "@local-serving/machines/docker/imageReference";
import { homeOn, onMachine } from "@local-serving/machines/home";
import type { MachinePlan } from "../../components/plan";
import { type Evidence, LABEL, serversOn } from "../../components/planned";
import type { MachineSettings } from "../../components/settings";
import { recordEdits } from "../pin/writePin";
import { type Host, hostOf } from "../sees/host";
import { startedWith, toDeclare } from "../sees/instanceA";
import { hasOnDemand, type SwapMachine } from "../sees/onDemand/onDemand";
import { swapUnit } from "../sees/onDemand/swapFiles";
import { MISSING, type RecordedVersions, recorded, type VenvEntry } from "../sees/packageVersions";
import type { Edit } from "../stackEdit/applyEdits";

/** Which versions run on a machine. */
export interface Inventory {
  readonly machine: string;
  readonly containers: readonly ContainerEntry[];
  readonly venvs: readonly VenvEntry[];
  /** llama-swap, where the machine has it. */
  readonly onDemand?: OnDemandEntry;
  /**
   * What the stack file should record of the versions and of instance A's argv, if it records
   * something else.
   */
  readonly record: readonly Edit[];
  /** What could not be read, and why. */
  readonly problems: readonly string[];
}

/** llama-swap and what it runs with; `null` where a thing can't be read. */
interface OnDemandEntry {
  /** Its path on the machine. */
  readonly program: string;
  /** As the program itself says it. */
  readonly version: string | null;
  readonly sha256: string | null;
  readonly unit: string;
  /** As systemd says it. */
  readonly state: string | null;
  /** SHA-256 of its configuration on the machine. */
  readonly config: string | null;
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
  const host = hostOf(machine.dockerHost);
  const containers = await allContainers(machine, host, problems);
  const home = homeOn(settings, evidence);
  const venvs: VenvEntry[] = [];
  for (const path of settings.venvs) venvs.push(await host.venv(onMachine(path, { home })));
  problems.push(...venvs.flatMap(({ problem }) => problem ?? []));
  const record = [
    ...differingRecords(machine, settings, containers),
    ...(await hostInstanceRecord(machine, host)),
  ];
  const onDemand = hasOnDemand(machine) ? await onDemandEntry(machine, host) : undefined;
  return { machine: machine.name, containers, venvs, ...defined({ onDemand }), record, problems };
}

async function onDemandEntry({ onDemand }: SwapMachine, host: Host): Promise<OnDemandEntry> {
  const { program, unit, folder } = onDemand;
  const sum = async (path: string) =>
    /^[\da-f]{64}/.exec((await host.ask(["sha256sum", "--", path])).out)?.[0] ?? null;
  const { out, err } = await host.ask([program.path, "-version"]);
  return {
    program: program.path,
    version: /version: (\w+)/.exec(`${out}${err}`)?.[1] ?? null,
    sha256: await sum(program.path),
    unit,
    state: (await swapUnit(onDemand, host))?.active ?? null,
    config: await sum(`${folder}/config.yaml`),
  };
}

async function allContainers(
  machine: MachinePlan,
  host: Host,
  problems: string[],
): Promise<ContainerEntry[]> {
  return orProblem([], problems, "", async () => {
    const states = await host.containers();
    const digests = await host.imageDigests([...new Set(states.map(({ imageId }) => imageId))]);
    const entries: ContainerEntry[] = [];
    for (const state of states) {
      const found = await lookInto(state, machine, host, problems);
      entries.push(entryOf(state, machine, digests.get(state.imageId) ?? "", found));
    }
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

type Inside = Pick<ContainerEntry, "versions" | "startGate">;

/** What is in a container of an inference server of ours, and what its start gate says. */
async function lookInto(
  state: ContainerState,
  machine: MachinePlan,
  host: Host,
  problems: string[],
): Promise<Inside> {
  if (!serversOn(machine).some(({ container }) => container.name === state.name))
    return { versions: null };
  // The image's own id is started, so nothing is pulled and no tag can have moved.
  const inside = async () => recorded(await host.versionsInside(state.imageId));
  return {
    versions: await orProblem(recorded({}), problems, `${state.name}: `, inside),
    ...defined({ startGate: await host.gateSays(state) }),
  };
}

function entryOf(
  { name, image, status, ports, labels }: ContainerState,
  machine: MachinePlan,
  digest: string,
  { versions, ...gate }: Inside,
): ContainerEntry {
  const ours = labels[LABEL.machine] === machine.name;
  return { name, image, digest, status, ports, ours, versions, ...gate };
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

/** What the argv of instance A says that the stack file doesn't. */
async function hostInstanceRecord(
  { name, hostInstance }: MachinePlan,
  host: Host,
): Promise<Edit[]> {
  if (hostInstance === "none") return [];
  const running = await startedWith(host, hostInstance.port);
  if ("unread" in running) return [];
  const path = ["machines", name, "instanceA"];
  return toDeclare(hostInstance, running).map(([key, value]) => ({ path: [...path, key], value }));
}
