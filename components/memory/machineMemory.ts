import type { DataOf } from "@local-serving/base/data/dataOf";
import { defined } from "@local-serving/base/faults/defined";
import { counted } from "@local-serving/base/faults/quoting";
import { BYTES_PER_GIB, hundredths } from "@local-serving/base/units/memory";
import type { Meminfo } from "@local-serving/machines/memory";
import { type MemoryDemand, takenGiB } from "@local-serving/vllm/utilization";
import type { InferenceServerPlan } from "../inference-server";
import { isPooling, type LedgerLine, type ModelEvidence, OPERATING_SYSTEM } from "../planned";
import type { admissionSchema } from "../planned/schema";
import {
  DEFAULT_OPERATING_SYSTEM_GIB,
  type InferenceServerSettings,
  type MachineSettings,
} from "../settings";
import { adapterSlots, slotsGiB } from "./adapterSlots";
import { INSTANT_TENSOR_GIB, loadsByInstantTensor, measuredHere, residentGiB } from "./kvRoom";
import {
  ENGINE_OVERHEAD_GIB,
  ledger,
  type MemoryLedger,
  type MemoryShare,
  takenBy,
} from "./ledger";
import { withOnRequest } from "./onRequest";
import type { Together } from "./together";

/** One of our servers with what is known of it. */
export interface KnownServer {
  readonly settings: InferenceServerSettings;
  readonly model: ModelEvidence | undefined;
  readonly plan: InferenceServerPlan;
  /** Bytes of each adapter's weights; `undefined` for one whose files weren't read. */
  readonly adapterBytes: readonly (number | undefined)[];
}

/**
 * Memory of one machine, and whether each server of ours would start, where the machine's meminfo
 * was given.
 */
export interface MachineMemory {
  readonly ledger: MemoryLedger;
  readonly admission: readonly AdmissionOnPaper[];
  /** Which servers run together, if some start on request. */
  readonly together?: Together;
  /** The lines of servers that the ledger leaves out, since they don't run with those in it. */
  readonly apart?: readonly LedgerLine[];
}

/** Adds up one machine's memory; with its meminfo also whether each server would start. */
export function machineMemory(
  machine: MachineSettings,
  servers: readonly KnownServer[],
  services: readonly LedgerLine[],
  meminfo: Meminfo | undefined,
): MachineMemory {
  const { instanceA } = machine;
  const shares = servers.map((server) => ({
    key: server.plan.key,
    onRequest: server.plan.container.start === "onRequest",
    share: shareOf(server),
  }));
  const ours = shares.filter((each) => !each.onRequest).map(({ share }) => share);
  const onRequest = shares.filter((each) => each.onRequest).map(({ share }) => share);
  const host: MemoryShare | undefined =
    instanceA === "none"
      ? undefined
      : { name: "instance A", utilization: instanceA.gpuMemoryUtilization, ours: false };
  const system = operatingSystem(machine, meminfo && meminfoUse(meminfo, host, ours));
  const always = host === undefined ? ours : [host, ...ours];
  const { otherGpuMemoryGiB: gib } = machine;
  const others: LedgerLine[] = [
    ...services,
    ...(gib === undefined
      ? []
      : [
          {
            name: "other GPU containers",
            gib,
            basis: "setting" as const,
            source: "otherGpuMemoryGiB",
          },
        ]),
    system,
  ];
  const admission = meminfo === undefined ? [] : admissionOnPaper(meminfo, host, ours, onRequest);
  const withOthers = (some: readonly MemoryShare[]) =>
    ledger(machine.totalGiB, [...always, ...some], others, machine.memoryFloorGiB);
  if (onRequest.length === 0) return { ledger: withOthers([]), admission };
  return { ...withOnRequest(machine, shares, withOthers), admission };
}

/**
 * What a server keeps of its adapters in the host's memory, which is the GPU's here: as many as
 * `--max-cpu-loras`, each with the numbers that it has (vLLM 0.30 `lora/model_manager.py`). Of one
 * whose files weren't read it is a whole slot.
 */
function adaptersOf({ settings, model, adapterBytes }: KnownServer): MemoryShare["adapters"] {
  const { adapters, maxLoras = adapters.length, maxCpuLoras = maxLoras } = settings;
  const slot = adapterSlots(settings, model);
  const whole = slot === undefined || "why" in slot ? 0 : slot.each;
  const sizes = adapterBytes
    .map((bytes) => (bytes === undefined ? whole : bytes / BYTES_PER_GIB))
    .sort((a, b) => b - a)
    .slice(0, maxCpuLoras);
  const gib = hundredths(sizes.reduce((sum, each) => sum + each, 0));
  if (gib === 0) return undefined;
  const by = adapterBytes.every((bytes) => bytes !== undefined)
    ? "by the size of their files"
    : "computed: by their files, or a whole slot";
  const source = `${counted(sizes.length, "adapter")} kept in the host's memory beside the slots, ${by}`;
  return { gib, source };
}

function shareOf(server: KnownServer): MemoryShare {
  const {
    settings,
    model,
    plan: { container, memory },
  } = server;
  const weights = residentGiB(settings, model);
  return {
    ...memory,
    name: container.name,
    ours: true,
    // Only kernels for decoding take memory to compile, and a pooling model has none.
    ...(isPooling(settings.model.kind) ? {} : { compileJobs: settings.compileJobs }),
    ...defined({ weightsGiB: weights, adapters: adaptersOf(server) }),
    ...(settings.kvCacheMemoryBytes === undefined ? {} : outside(settings, model)),
  };
}

/**
 * Returns what a server takes outside its KV cache. It is what was measured here, else the weights
 * with the most that servers of this engine took beside them.
 */
function outside(
  settings: InferenceServerSettings,
  model: ModelEvidence | undefined,
): Pick<MemoryShare, "outsideGiB" | "outsideIs" | "publishedOutsideGiB"> {
  const { taken, charged } = measuredHere(settings) ?? {};
  if (taken !== undefined) return { outsideGiB: taken, outsideIs: "taken" };
  if (charged !== undefined) return { outsideGiB: charged, outsideIs: "charged" };
  const outsideGiB = residentGiB(settings, model);
  if (outsideGiB === undefined) return {};
  const slots = slotsGiB(adapterSlots(settings, model));
  const loader = (loadsByInstantTensor(settings) ? INSTANT_TENSOR_GIB : 0) + slots;
  const publishedOutsideGiB = outsideGiB + ENGINE_OVERHEAD_GIB + loader;
  return { outsideGiB, outsideIs: "weights", publishedOutsideGiB };
}

/**
 * The system's line is a default until it was declared, or measured by a copy of the machine's
 * meminfo.
 */
function operatingSystem(
  { operatingSystemGiB: gib }: MachineSettings,
  measured: MeminfoUse | undefined,
): LedgerLine {
  const name = OPERATING_SYSTEM;
  if (measured !== undefined)
    return { name, gib: measured.operatingSystemGiB, basis: "measured", source: measured.source };
  return gib === DEFAULT_OPERATING_SYSTEM_GIB
    ? {
        name,
        gib,
        basis: "default",
        source: "operatingSystemGiB, unmeasured (17 to 20 GiB have been seen)",
      }
    : { name, gib, basis: "setting", source: "operatingSystemGiB" };
}

/** A total is written down with two places, so it may be this much above what the machine has. */
const ROUNDING_GIB = 0.01;

/**
 * A declared total below the machine's is safe. If it is off by more than this share, the plan's
 * figures are wrong.
 */
const LOWER_TOLERANCE = 0.001;

/** Why a declared total is wrong once the machine's own is known; `undefined` if it is right. */
export function totalFault(declaredGiB: number, machineGiB: number): string | undefined {
  const real = machineGiB.toFixed(2);
  const set = `Set \`totalGiB: ${hundredths(machineGiB)}\`.`;
  if (declaredGiB > machineGiB + ROUNDING_GIB) {
    const absent = (declaredGiB - machineGiB).toFixed(2);
    return `totalGiB is ${declaredGiB}, but the machine has ${real}. ${set} The plan counts ${absent} GiB that don't exist.`;
  }
  if (declaredGiB < machineGiB * (1 - LOWER_TOLERANCE)) {
    return `totalGiB is ${declaredGiB}, but the machine has ${real}. ${set} vLLM takes its share of the machine's memory, so the plan's figures are too small.`;
  }
  return undefined;
}

/**
 * A declared total that is off by more than this share belongs to another machine, or was never
 * read.
 */
const REFUSED_BEYOND = 0.02;

/**
 * What the preflight, and a plan with the machine's meminfo, say about a declared total. If it is
 * only a little off, it is a warning.
 */
export function totalFinding(declaredGiB: number, machineGiB: number) {
  const message = totalFault(declaredGiB, machineGiB);
  if (message === undefined) return undefined;
  const off = Math.abs(declaredGiB - machineGiB) / machineGiB;
  const verdict = off > REFUSED_BEYOND ? "refused" : "warned";
  return { verdict, message, setting: "totalGiB", value: hundredths(machineGiB) } as const;
}

/** The total to plan with: the declared one, unless the machine has less. */
export const plannedTotal = (declaredGiB: number, machineGiB: number | undefined): number =>
  machineGiB !== undefined && declaredGiB > machineGiB + ROUNDING_GIB
    ? hundredths(machineGiB)
    : declaredGiB;

/** Returns the machine with the least memory of those that share a model, unless it is this one. */
export function leastMemory(
  own: string,
  nodes: readonly string[] = [],
  totalOf: (machine: string) => number,
) {
  const [least] = nodes
    .map((machine) => ({ machine, totalGiB: totalOf(machine) }))
    .sort((a, b) => a.totalGiB - b.totalGiB);
  return least !== undefined && least.totalGiB < totalOf(own) ? least : undefined;
}

/** The servers that must have been running, judging by the memory in use. */
type Running = "no server" | "instance A" | "instance A and ours" | "ours";

/**
 * Whether a server would start: MemAvailable at least what it takes (vLLM's own rule: utilization x
 * total).
 */
export type AdmissionOnPaper = DataOf<typeof admissionSchema>;

/** A server's name and what it asks of the memory. */
export type NamedDemand = MemoryDemand & { readonly name: string };

/** What a copy of /proc/meminfo says of a machine. */
interface MeminfoUse {
  readonly running: Running;
  /** Memory in use beside those servers, in GiB: the operating system and everything undeclared. */
  readonly operatingSystemGiB: number;
  readonly source: string;
}

/**
 * What a copy of /proc/meminfo says of a machine. It doesn't say which servers were running. We
 * assume the most of them that leave the operating system its smallest plausible amount, and the
 * source says so.
 */
export function meminfoUse(
  meminfo: Meminfo,
  instanceA: NamedDemand | undefined,
  ours: readonly NamedDemand[],
): MeminfoUse {
  const { totalGiB, availableGiB } = meminfo;
  const used = totalGiB - availableGiB;
  const sum = (shares: readonly NamedDemand[]) =>
    shares.reduce((total, share) => total + takenBy(share, totalGiB), 0);
  const a = instanceA === undefined ? [] : [instanceA];
  const held = (servers: Running) =>
    ({
      "no server": 0,
      "instance A": sum(a),
      ours: sum(ours),
      "instance A and ours": sum([...a, ...ours]),
    })[servers];
  const candidates: Running[] = [
    ...(a.length > 0 && ours.length > 0 ? (["instance A and ours"] as const) : []),
    ...(a.length > 0 ? (["instance A"] as const) : ours.length > 0 ? (["ours"] as const) : []),
  ];
  const running =
    candidates.find((servers) => used - held(servers) >= DEFAULT_OPERATING_SYSTEM_GIB) ??
    "no server";
  const servers = hundredths(held(running));
  const less =
    running === "no server"
      ? "no server running"
      : `less ${servers.toFixed(2)} of ${running}, taken to be running`;
  const source = `meminfo: ${totalGiB.toFixed(2)} - ${availableGiB.toFixed(2)} GiB in use, ${less}`;
  return {
    running,
    operatingSystemGiB: hundredths(used - held(running)),
    source,
  };
}

/**
 * vLLM's admission rule for each of our servers, one after the other, with instance A up before
 * them. Each of those that start on request comes alone beside all that always run.
 */
export function admissionOnPaper(
  meminfo: Meminfo,
  instanceA: NamedDemand | undefined,
  ours: readonly NamedDemand[],
  onRequest: readonly NamedDemand[] = [],
): AdmissionOnPaper[] {
  const { totalGiB } = meminfo;
  let available = totalGiB - meminfoUse(meminfo, instanceA, ours).operatingSystemGiB;
  if (instanceA !== undefined) available -= takenBy(instanceA, totalGiB);
  const admit = (share: NamedDemand): AdmissionOnPaper => {
    // vLLM itself only checks the share, and runs out of memory later.
    const wantedGiB = hundredths(takenGiB(share, totalGiB));
    // What is available when the server starts: instance A and the servers before it have taken
    // theirs.
    const availableGiB = hundredths(available);
    return { name: share.name, wantedGiB, availableGiB, admitted: availableGiB >= wantedGiB };
  };
  const always = ours.map((share) => {
    const admitted = admit(share);
    available -= takenBy(share, totalGiB);
    return admitted;
  });
  return [...always, ...onRequest.map(admit)];
}
