import { defined } from "@local-serving/base/faults/defined";
import { Failed } from "@local-serving/base/faults/fault";
import { inKeyOrder } from "@local-serving/base/faults/json";
import { filesOf } from "@local-serving/machines/files";
import { parseMeminfo } from "@local-serving/machines/memory";
import { readAppliedPlan } from "../../components/evidence";
import { containerArgs } from "../../components/host";
import { totalFinding } from "../../components/memory";
import { type MachinePlan, wordFor } from "../../components/plan";
import {
  inNameOrder,
  LABEL,
  type PlannedContainer,
  type PlannedFile,
} from "../../components/planned";
import { connectionProblem, hostInstanceFindings } from "../../components/preflight";
import { serviceNamed } from "../../components/services";
import { type Host, hostOf, inspected } from "../sees/host";
import { networkIds, offNetworks, runsNow } from "../sees/network";
import { hasOnDemand } from "../sees/onDemand/onDemand";
import { type OpenTunnel, tunnelTo } from "../sees/tunnel";
import type { StackFileOptions } from "../stack/stackFile";
import { forStack, typedOn } from "../stack/typed";
import { containerDifferences, REMOVED } from "./containers";
import type { Difference } from "./difference";
import { fileDifference } from "./files";
import { folderDifferences } from "./folders";
import { onDemandDifferences } from "./onDemand";
import { simpleServerDifferences } from "./simpleServer";

/** Something on a machine that isn't as it was applied. */
export interface Drift extends Difference {
  readonly kind:
    | "client"
    | "container"
    | "file"
    | "instance-a"
    | "memory"
    | "on-demand"
    | "simple-server";
  /** A container's name, a path, a unit, or words such as `instance A`. */
  readonly where: string;
  readonly mend: Mend;
}

/** What mends it: a command, then an update with these options of the engine, then a command. */
export interface Mend {
  readonly before?: readonly string[];
  readonly up?: readonly string[];
  readonly after?: readonly string[];
}

/** What is found on one machine. */
export interface MachineDrift {
  readonly machine: string;
  readonly drifts: readonly Drift[];
  /** Why nothing can be compared. */
  readonly missing?: string;
  /** Whether the stack file asks for something else than what was applied. */
  readonly ahead?: boolean;
  /** What could not be read. */
  readonly unread: readonly string[];
}

/** Compares a machine with the plan that was applied to it, or with another one. It only reads. */
export async function driftOf(
  machine: MachinePlan,
  open: OpenTunnel = tunnelTo,
  other?: MachinePlan,
): Promise<MachineDrift> {
  const host = hostOf(machine.dockerHost);
  const away = await connectionProblem(machine);
  const applied = away
    ? { missing: away.message }
    : other === undefined
      ? await readAppliedPlan(machine, filesOf(machine))
      : { plan: other };
  if (!("plan" in applied))
    return { machine: machine.name, drifts: [], missing: applied.missing, unread: [] };
  const { plan } = applied;
  const parts = [ofContainers, ofFiles, ofSimpleServer, ofOnDemand, ofMemory].map((part) =>
    part(plan, host, open).catch(unreadPart),
  );
  const found = [...(await Promise.all(parts)).flat(), ...folderDrifts(plan, machine)];
  return {
    machine: machine.name,
    drifts: found.filter((each) => typeof each !== "string"),
    ahead: acted(machine) !== acted(plan),
    unread: found.filter((each) => typeof each === "string"),
  };
}

function unreadPart(error: unknown): string[] {
  if (error instanceof Failed) return [error.message];
  throw error;
}

/**
 * What an update acts on: figures of the plan may change with the evidence, such as a model that
 * was downloaded since.
 */
function acted({ containers, files, secretFiles, simpleServer, ...rest }: MachinePlan): string {
  const made = containers.map(({ env, labels, ...rest }) => {
    const { [LABEL.folders]: _, ...others } = labels;
    const container = { ...rest, env: inNameOrder(env), labels: inNameOrder(others) };
    return { resource: rest.resource, ...containerArgs(container) };
  });
  const written = files
    .filter(({ role }) => role !== "applied-plan")
    .map(({ resource, path, mode, here, text }) => ({ resource, path, mode, here, text }));
  const secret = secretFiles.map(({ resource, path, mode, variable }) => ({
    resource,
    path,
    mode,
    variable,
  }));
  const { mode } = simpleServer;
  const { unit, baseUrl, models, pull } = mode === "host" ? simpleServer : {};
  const ollama = { mode, unit, baseUrl, models, pull };
  const { program, network } = rest.onDemand ?? {};
  const onDemand = rest.onDemand && { program, network };
  return JSON.stringify(inKeyOrder({ made, written, secret, ollama, onDemand }));
}

async function ofContainers(plan: MachinePlan, host: Host): Promise<Drift[]> {
  const all = await Promise.all(
    plan.containers.map(async (planned) => ({
      planned,
      found: await inspected(host, planned.name),
    })),
  );
  // A network that a running container is on can't be removed.
  const asks = all.some(
    ({ planned, found }) =>
      found !== undefined && (!runsNow(found) || offNetworks(planned, found).length > 0),
  );
  const ids = asks ? await networkIds(host) : undefined;
  return all.flatMap(({ planned, found }) => {
    const differences = containerDifferences(planned, found, ids);
    const mend = mendContainer(plan, planned, { differences, runs: runsNow(found) });
    return differences.map((each) => ({
      kind: "container" as const,
      where: planned.name,
      ...each,
      mend,
    }));
  });
}

/** Folders of the operator's whose files are others than those that a server was started with. */
const folderDrifts = (applied: MachinePlan, now: MachinePlan): Drift[] =>
  applied.containers.flatMap((container) =>
    folderDifferences(
      container,
      now.containers.find(({ name }) => name === container.name),
    ).map((each) => ({
      kind: "container" as const,
      where: container.name,
      ...each,
      mend: { up: [] },
    })),
  );

/**
 * The engine compares its own record with the stack file, and looks at what runs only where it is
 * told to.
 */
const ANEW = ["--refresh"];

function mendContainer(
  plan: MachinePlan,
  planned: PlannedContainer,
  {
    differences: found,
    runs,
  }: { readonly differences: readonly Difference[]; readonly runs: boolean },
): Mend {
  const { name, restart } = planned;
  const isRemoved = ({ what, found }: Difference) => what === "network" && found === REMOVED;
  const docker = (...words: string[]) => typedOn(plan, ["docker", ...words]);
  const alone: Readonly<Record<string, string>> = {
    status: `serving start ${wordFor(plan, name)}`,
    restart: docker("update", "--restart", restart, name),
  };
  const joins = (network: string | null) =>
    docker("network", "connect", "--alias", name, network ?? planned.network, name);
  if (found.some(({ what }) => what === "container") || (runs && found.every(isRemoved)))
    return { up: ANEW };
  const steps = found.flatMap((each) => {
    if (isRemoved(each)) return [];
    return each.what === "network" ? joins(each.planned) : (alone[each.what] ?? []);
  });
  if (steps.length === found.length) return { after: steps };
  // One that somebody made under this name isn't the engine's, which can't replace it; and of a
  // stopped one it doesn't see that its network is another.
  return { before: [docker("rm", "--force", name)], up: ANEW };
}

async function ofFiles(plan: MachinePlan, host: Host): Promise<Drift[]> {
  const clients = plan.clients.map(({ resource }) => resource);
  const all = [...plan.files, ...plan.secretFiles].map(async (file): Promise<Drift[]> => {
    const disk = await host.file(file.path, "here" in file ? file.here : undefined);
    const found = fileDifference(file, disk);
    const kind = clients.includes(file.partOf) ? "client" : "file";
    return found === undefined
      ? []
      : [{ kind, where: file.path, ...found, mend: mendFile(plan, file) }];
  });
  return (await Promise.all(all)).flat();
}

/**
 * The engine writes a file again where it replaces its resource; a program that reads it once is
 * started again.
 */
function mendFile(
  plan: MachinePlan,
  { role, resource, partOf }: Pick<PlannedFile, "role" | "resource" | "partOf">,
): Mend {
  const isDropIn = role === "simple-server-dropin";
  if (isDropIn && plan.elevate === "none") return { after: plan.commands };
  const resources = isDropIn ? [resource, `${resource}-restart`] : [resource];
  const reader = plan.services.find(
    (each) => each.resource === partOf && serviceNamed(each.name)?.readsOnce,
  );
  const { onDemand } = plan;
  // llama-swap reads its files once, too.
  const swap = onDemand !== undefined && partOf === `${plan.name}-on-demand`;
  const restart = swap ? ["systemctl", "--user", "restart", onDemand.unit] : undefined;
  const again = reader?.container ? ["docker", "restart", reader.container] : restart;
  return {
    up: resources.map((each) => `--replace '**::${each}'`),
    after: again === undefined ? [] : [typedOn(plan, again)],
  };
}

async function ofSimpleServer(plan: MachinePlan, host: Host): Promise<Drift[]> {
  const { simpleServer } = plan;
  if (simpleServer.mode !== "host") return [];
  const { unit } = simpleServer;
  const systemctl = (...words: string[]) => typedOn(plan, ["sudo", "systemctl", ...words]);
  const restart = [systemctl("daemon-reload"), systemctl("restart", unit)];
  // What wins over our drop-in is somebody's own: this shows the file that says it.
  const show = [typedOn(plan, ["systemctl", "cat", unit])];
  return (await simpleServerDifferences(simpleServer, host)).map(({ overruled, ...each }) => ({
    kind: "simple-server",
    where: unit,
    ...each,
    mend: { after: overruled ? show : restart },
  }));
}

async function ofOnDemand(plan: MachinePlan, host: Host, open: OpenTunnel): Promise<Drift[]> {
  if (!hasOnDemand(plan)) return [];
  return (await onDemandDifferences(plan, host, open)).map(({ after, up, ...each }) => ({
    kind: "on-demand",
    ...each,
    mend: { ...(up ? { up: ANEW } : {}), ...(after === undefined ? {} : { after: [after] }) },
  }));
}

/** The machine's memory, and how instance A was started, which is only looked at. */
async function ofMemory(plan: MachinePlan, host: Host): Promise<Drift[]> {
  const { hostInstance, ledger } = plan;
  const memory = parseMeminfo(await host.meminfo());
  const a = hostInstance === "none" ? undefined : hostInstance;
  const listener = a && (await host.listener(a.port));
  const listeners = a && listener ? [{ port: a.port, ...listener }] : [];
  const settings = new Map<string, unknown>(Object.entries(a ?? {}));
  const declared = (setting = "") =>
    settings.get(setting.replace("instanceA.", "")) ?? a?.gpuMemoryUtilization;
  const total = memory && totalFinding(ledger.totalGiB, memory.totalGiB);
  const drift = (
    part: Pick<Drift, "kind" | "where">,
    planned: unknown,
    finding: ReturnType<typeof hostInstanceFindings>[number],
  ): Drift[] => {
    const { setting: what, value, message } = finding;
    // Without a setting it is no difference: nobody could see.
    if (what === undefined) return [];
    const difference = {
      what,
      planned: String(planned),
      found: value === undefined ? "something else" : String(value),
      says: `differs: ${message}`,
    };
    return [{ ...part, ...difference, mend: { up: [] } }];
  };
  return [
    ...hostInstanceFindings(plan, { listeners, ...defined({ memory }) }).flatMap((finding) =>
      drift({ kind: "instance-a", where: "instance A" }, declared(finding.setting), finding),
    ),
    ...(total ? drift({ kind: "memory", where: "memory" }, ledger.totalGiB, total) : []),
  ];
}

/** Everything that mends these, as commands in an order that works; all updates are one. */
export function mending(mends: readonly Mend[], chosen: StackFileOptions): string[] {
  const all = (part: keyof Mend) => [...new Set(mends.flatMap((mend) => mend[part] ?? []))];
  const options = all("up");
  const update = ["serving up", ...options].join(" ");
  const updates = mends.some(({ up }) => up !== undefined) ? [update] : [];
  return [...all("before"), ...updates, ...all("after")].map((each) => forStack(each, chosen));
}
