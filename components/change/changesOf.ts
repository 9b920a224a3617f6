import { isDeepStrictEqual } from "node:util";
import { attempt } from "@local-serving/base/faults/defined";
import { BYTES_PER_GIB } from "@local-serving/base/units/memory";
import type { HubModel, InferenceServerPlan } from "../inference-server";
import type { MachinePlan } from "../plan";
import { gbOnEachGpu, neededBy, serversOn } from "../planned";
import {
  type KvFigures,
  kvFigures,
  type MemoryFigures,
  memoryFigures,
  plannedStart,
  type StartVerdict,
} from "../program/machine";
import { type ArgumentChange, argumentChanges } from "./containerChange";
import { type Span, type Step, serverSteps, serviceSteps } from "./downtime";
import { type Loss, lossesOf } from "./losses";

/** What an update does to a machine, and what its clients feel of it. */
export interface MachineChange {
  readonly machine: string;
  readonly containers: readonly ContainerChange[];
  /** The plan that was applied is left out: each change writes it. */
  readonly files: readonly FileChange[];
  /** Ollama restarts where its drop-in changes; `by-hand` where nothing of ours may do that. */
  readonly ollama: "restarted" | "by-hand" | null;
  readonly memory: BeforeAndAfter<MemoryFigures>;
  /** KV caches by the servers' keys. */
  readonly kv: Readonly<Record<string, BeforeAndAfter<KvFigures>>>;
  /** Whether servers start, by their keys. */
  readonly starts: Readonly<Record<string, BeforeAndAfter<StartVerdict>>>;
  readonly losses: readonly Loss[];
}

/** Figures of two states; `null` where there is no machine, or nothing is known. */
interface BeforeAndAfter<Figures> {
  readonly before: Figures | null;
  readonly after: Figures | null;
}

export interface ContainerChange {
  /** Name of the resource in the stack, by which old and new belong together. */
  readonly resource: string;
  /** Key of a server in the stack file, else the name of the service. */
  readonly key: string;
  /** Name of the container, or its old name if it is removed. */
  readonly name: string;
  readonly kind: "created" | "replaced" | "removed" | "unchanged";
  /** Set where the new container is made and not started. */
  readonly startsOnRequest?: true;
  /** Set where requests start it, by llama-swap. */
  readonly startsByRequest?: true;
  /** What differs, where it is replaced. */
  readonly changes: readonly ArgumentChange[];
  /**
   * The time until the new container answers, in parts. While it is replaced, nothing answers for
   * that time.
   */
  readonly steps: readonly Step[];
  /** The image that is pulled before the old container is touched. */
  readonly pulls: string | null;
  /** Models that the new one may have to download first, while nothing answers. */
  readonly downloads: readonly string[];
}

/** A file that an update writes; where one is removed, what was there before it comes back. */
interface FileChange {
  readonly role: string;
  readonly path: string;
  readonly kind: "removed" | "written" | "rewritten";
}

/**
 * Two states of a stack, machine by machine. Pure. A machine that only one of them has is created,
 * or removed.
 */
export function changesOf(
  before: readonly MachinePlan[],
  after: readonly MachinePlan[],
): MachineChange[] {
  const names = [...new Set([...after, ...before].map(({ name }) => name))];
  const pairs = names.map((name) =>
    [before, after].map((plans) => plans.find((each) => each.name === name)),
  );
  const alone = pairs.map(([old, now]) => changeOf(old, now));
  // A head goes and comes with each of its workers, which are on other machines.
  const restarted = alone.flatMap(({ containers }) =>
    containers.filter(({ kind }) => kind !== "unchanged"),
  );
  const around = { restarted: restarted.map(({ name }) => name), machines: before };
  return pairs.map(([old, now]) => changeOf(old, now, around));
}

/**
 * Returns the change of one machine. `around` holds the containers that restart on any machine, and
 * every machine as it was.
 */
export function changeOf(
  before: MachinePlan | undefined,
  after: MachinePlan | undefined,
  around: {
    readonly restarted?: readonly string[];
    readonly machines?: readonly MachinePlan[];
  } = {},
): MachineChange {
  const plans = [after, before].filter((plan) => plan !== undefined);
  const resources = new Set(
    plans.flatMap(({ containers }) => containers.map(({ resource }) => resource)),
  );
  const keys = new Set(plans.flatMap(serversOn).map(({ key }) => key));
  const both = <Figures>(figures: (plan: MachinePlan) => Figures) => ({
    before: before === undefined ? null : figures(before),
    after: after === undefined ? null : figures(after),
  });
  const containers = [...resources].map((each) =>
    containerChange(each, before, after, around.restarted ?? []),
  );
  const ollama = ollamaChange(before, after);
  const ofEach = <Figures>(figures: (plan: MachinePlan, key: string) => Figures) =>
    Object.fromEntries([...keys].map((key) => [key, both((plan) => figures(plan, key))]));
  const starts = ofEach(startOf);
  const felt = { containers, ollama, starts };
  return {
    machine: plans[0]?.name ?? "",
    containers,
    files: fileChanges(before, after),
    ollama,
    memory: both(memoryFigures),
    kv: ofEach(kvOf),
    starts,
    losses: before === undefined ? [] : lossesOf(before, after, felt, around.machines ?? [before]),
  };
}

/** Whether an update has nothing to do on the machine. */
export const isUnchanged = ({ containers, files, ollama }: MachineChange): boolean =>
  containers.every(({ kind }) => kind === "unchanged") && files.length === 0 && ollama === null;

function containerChange(
  resource: string,
  before: MachinePlan | undefined,
  after: MachinePlan | undefined,
  restarted: readonly string[],
): ContainerChange {
  const [old, now] = [before, after].map((plan) =>
    plan?.containers.find((each) => each.resource === resource),
  );
  const [oldServer, server] = [before, after].map(
    (plan) => plan && serversOn(plan).find(({ container }) => container.resource === resource),
  );
  const { name = "", role = "" } = now ?? old ?? {};
  const changes =
    old && now ? [...argumentChanges(old, now), ...withNeeded(server, restarted)] : [];
  const kind = kindOf(old, now, changes);
  const startsOnRequest = now?.start === "onRequest";
  const serverBefore = oldServer && { server: oldServer, changes };
  const start = () =>
    server && after ? serverSteps(server, weightsOf(server, after), serverBefore) : undefined;
  return {
    resource,
    key: (server ?? oldServer)?.key ?? role,
    name,
    kind,
    ...(startsOnRequest ? { startsOnRequest } : {}),
    ...(startsOnRequest && after?.onDemand ? { startsByRequest: true as const } : {}),
    changes,
    steps: !now || kind === "unchanged" ? [] : (start() ?? serviceSteps(now, old)),
    pulls: now && old?.image !== now.image ? now.image : null,
    downloads: kind === "unchanged" ? [] : downloadsOf(server, oldServer),
  };
}

function kindOf(
  old: MachinePlan["containers"][number] | undefined,
  now: MachinePlan["containers"][number] | undefined,
  changes: readonly ArgumentChange[],
): ContainerChange["kind"] {
  if (!now) return "removed";
  if (!old) return "created";
  return changes.length === 0 ? "unchanged" : "replaced";
}

function withNeeded(
  server: InferenceServerPlan | undefined,
  restarted: readonly string[],
): ArgumentChange[] {
  return (server ? neededBy(server) : [])
    .filter(({ container }) => restarted.includes(container))
    .map(({ container }) => ({
      argument: "worker",
      before: container,
      after: `${container}, which restarts`,
    }));
}

/**
 * Returns the GB of weights that a server, or one GPU of it, loads. If they are unknown, it
 * returns what its memory allows.
 */
function weightsOf({ container }: InferenceServerPlan, { kv, ledger }: MachinePlan): Span {
  const planned = kv[container.name];
  const gb = planned ? gbOnEachGpu(planned) : null;
  if (gb !== null) return { least: Math.round(gb), most: Math.round(gb) };
  const taken = ledger.lines.find(({ name }) => name === container.name)?.gib ?? ledger.totalGiB;
  return { least: 0, most: Math.round((taken * BYTES_PER_GIB) / 1e9) };
}

function downloadsOf(
  server: InferenceServerPlan | undefined,
  before: InferenceServerPlan | undefined,
): string[] {
  const text = ({ id, revision }: HubModel) =>
    revision === undefined ? id : `${id} at ${revision}`;
  const known =
    before?.modelCache === server?.modelCache ? (before?.hubModels ?? []).map(text) : [];
  return (server?.hubModels ?? []).map(text).filter((model) => !known.includes(model));
}

/** Returns the files by computer and path: a file that moves is another file. */
function filesOf(plan: MachinePlan | undefined) {
  const { files = [], secretFiles = [], elevate } = plan ?? {};
  const skipped = ["applied-plan", ...(elevate === "none" ? ["simple-server-dropin"] : [])];
  const secret = secretFiles.map((file) => ({ ...file, text: "", here: undefined }));
  const all = [...files.filter(({ role }) => !skipped.includes(role)), ...secret];
  return new Map(all.map((file) => [`${file.here ?? ""} ${file.path}`, file]));
}

function fileChanges(
  before: MachinePlan | undefined,
  after: MachinePlan | undefined,
): FileChange[] {
  const [old, now] = [filesOf(before), filesOf(after)];
  return [...new Map([...old, ...now])].flatMap(
    ([key, { role, path, mode, text }]): FileChange[] => {
      const was = old.get(key);
      const kind = !now.has(key) ? "removed" : was === undefined ? "written" : "rewritten";
      return kind === "rewritten" && was?.text === text && was.mode === mode
        ? []
        : [{ role, path, kind }];
    },
  );
}

function ollamaChange(
  before: MachinePlan | undefined,
  after: MachinePlan | undefined,
): "restarted" | "by-hand" | null {
  const [old, now] = [before, after].map((plan) => {
    if (plan?.simpleServer.mode !== "host") return undefined;
    const { unit, dropIn } = plan.simpleServer;
    return { ours: plan.elevate !== "none", unit, path: dropIn.path, text: dropIn.text };
  });
  if (isDeepStrictEqual(old, now)) return null;
  return old?.ours === true || now?.ours === true ? "restarted" : "by-hand";
}

/** A plan that another version of this project applied may have its figures elsewhere. */
function kvOf(plan: MachinePlan, key: string): KvFigures | null {
  const server = serverOf(plan, key);
  return attempt(() => kvFigures((server && plan.kv[server.container.name]) ?? null)) ?? null;
}

function startOf(plan: MachinePlan, key: string): StartVerdict | null {
  const server = serverOf(plan, key);
  return (server && plannedStart(plan, server.container)) ?? null;
}

const serverOf = (plan: MachinePlan, key: string): InferenceServerPlan | undefined =>
  serversOn(plan).find((each) => each.key === key);
