import { dataOf } from "@local-serving/base/data/dataOf";
import { defined } from "@local-serving/base/faults/defined";
import { FaultyInput } from "@local-serving/base/faults/fault";
import { type KeptAnswers, keptAnswers } from "@local-serving/base/faults/keptAnswers";
import { isOverSsh } from "@local-serving/machines/address";
import { homeOn, onMachine } from "@local-serving/machines/home";
import type { Meminfo } from "@local-serving/machines/memory";
import { type ClientPlan, codingClients } from "../clients";
import {
  gateFile,
  type InferenceServerPlan,
  plannedServer,
  type ServerSurroundings,
} from "../inference-server";
import {
  type KnownServer,
  type KvContext,
  leastMemory,
  type MemoryLedger,
  machineMemory,
  memoryWarnings,
  neededAndAdvised,
  otherShares,
  plannedTotal,
  type ServerKvResult,
  servedSpeed,
  serverKv,
  totalFault,
} from "../memory";
import {
  answers,
  type Evidence,
  endpointOf,
  folderEvidence,
  type HostInstanceFacts,
  keyElsewhere,
  modelEvidence,
  NOTES,
  type Reach,
  type Warning,
} from "../planned";
import { hostInstanceSchema } from "../planned/schema";
import { onDemandWarnings, plannedOnDemand } from "../services/on-demand";
import {
  goneKeyWarnings,
  type InferenceServerSettings,
  type MachineFault,
  type MachineSettings,
  machineFault,
  type StackSettings,
  sourceOfSettings,
} from "../settings";
import { appliedPlan } from "./appliedPlan";
import { deviceNotes, kvOn, memoryOn } from "./deviceFigures";
import { plannedHarness } from "./harness-files";
import { adapterBytes, ownModelFindings, ownModelWarnings, withSlots } from "./ownModels";
import {
  measuredFaults,
  modelFaults,
  namedTwice,
  sharedOnDemand,
  sharedOnRequest,
  unreachable,
  unreadOnDemand,
  withFamily,
  writtenTwice,
} from "./planFaults";
import { services } from "./services";
import type { MachinePlan, Plan } from "./types";
import { machineWarnings } from "./warnings";

const LEAVE_THEM = "Or leave the clients' files on the machine: `clients.on: machine`.";

/**
 * Computes everything that a stack file asks for. Pure: the same input gives the same bytes. Throws
 * `FaultyInput` if two files have one path, a client can't reach what it talks to, or the evidence
 * contradicts what is declared about a model.
 */
export function plan(settings: StackSettings, evidence: Evidence): Plan {
  const planned = Object.entries(settings.machines).map(([name, machine]) =>
    machinePlan(name, machine, settings.machines, evidence),
  );
  const machines = planned.map(({ machine }) => machine);
  const faults = [
    ...writtenTwice(machines),
    ...namedTwice(settings, machines),
    ...unreachable(settings, machines),
    ...modelFaults(settings, evidence),
    ...measuredFaults(settings, machines),
    ...ownModelFindings(settings, evidence),
    ...sharedOnRequest(settings, machines),
    ...sharedOnDemand(settings, machines),
    ...unreadOnDemand(settings, machines),
    ...planned.flatMap(({ machine: { name, files }, unreached }) =>
      (files.some(({ here }) => here) ? unreached : []).map((fault) =>
        machineFault(settings, name, { ...fault, message: `${fault.message} ${LEAVE_THEM}` }),
      ),
    ),
  ];
  if (faults.length > 0) throw new FaultyInput(sourceOfSettings(settings), faults);
  const marked = (warning: Warning): Warning =>
    NOTES.has(warning.code) ? { ...warning, note: true } : warning;
  const warnings = [...planned.flatMap((each) => each.warnings), ...goneKeyWarnings(settings)];
  return { machines, warnings: warnings.map(marked) };
}

/**
 * One machine's plan, what an operator should know of it, and what its clients on other computers
 * can't reach.
 */
export interface MachinePlanned {
  readonly machine: MachinePlan;
  readonly warnings: readonly Warning[];
  readonly unreached: readonly MachineFault[];
}

const reachesOf = (servers: readonly InferenceServerPlan[]) => servers.map(({ reach }) => reach);

/** What parts of a machine have that runs or is written there. */
interface Written {
  readonly containers?: MachinePlan["containers"];
  readonly files: MachinePlan["files"];
  readonly secretFiles?: MachinePlan["secretFiles"];
}

/** The containers and files of a machine: its servers' first, then those of other parts. */
const writtenOn = (
  servers: readonly InferenceServerPlan[],
  parts: readonly Written[],
): Required<Written> => ({
  containers: [
    ...servers.map(({ container }) => container),
    ...parts.flatMap(({ containers = [] }) => containers),
  ],
  files: parts.flatMap(({ files }) => files),
  secretFiles: [
    ...servers.flatMap(({ tokenFile }) => tokenFile ?? []),
    ...parts.flatMap(({ secretFiles = [] }) => secretFiles),
  ],
});

/** What a machine has of llama-swap that declares none. */
const NO_ON_DEMAND = { onDemand: undefined, files: [], secretFiles: [], reach: [] };

/** Plans one machine, without the checks that need all machines. */
export function machinePlan(
  name: string,
  declared: MachineSettings,
  machines: StackSettings["machines"],
  given: Evidence,
): MachinePlanned {
  const evidence = { ...given, homeHere: given.home, home: homeOn(declared, given) };
  const meminfo = evidence.meminfo?.[name];
  const totalOf = (each: string) =>
    plannedTotal(machines[each]?.totalGiB ?? declared.totalGiB, evidence.meminfo?.[each]?.totalGiB);
  const machine = { ...declared, totalGiB: totalOf(name) };
  const directories = directoriesOf(name, machine, evidence);
  const { state, gate } = directories;
  const servers = serversOf(name, machine, { directories, machines, evidence });
  const running = servers.map(({ plan }) => plan);
  const inferenceServers = running.filter(answers);
  const around = services(name, machine, inferenceServers, { evidence, machines });
  const added = machineMemory(machine, servers, around.memory, meminfo);
  const { apart = [], ...memory } = memoryOn(machine, added);
  const withKv = servers.map((server) => {
    const least = leastMemory(name, server.settings.nodes, totalOf);
    const maxOutputTokens = longestAnswer(around.clients, server.plan.key);
    return {
      ...server,
      kv: kvOfServer(machine, server, { evidence: given, least, maxOutputTokens }),
    };
  });
  const served = { servers: inferenceServers, simpleServer: around.detail.simpleServer };
  const harness = plannedHarness(name, machine, served, (path) => onMachine(path, evidence));
  const needs = { servers: running, ledger: [...memory.ledger.lines, ...apart], folder: gate };
  const where = { machine: name, folder: `${state}/${name}`, home: evidence.home };
  const started = { ...where, servers: inferenceServers, together: memory.together };
  const { onDemand, ...llamaSwap } = plannedOnDemand(machine, started) ?? NO_ON_DEMAND;
  const planned: MachinePlan = {
    ...declaredFacts(name, machine, evidence.home),
    inferenceServers,
    ranks: running.filter((each) => !answers(each)),
    serve: inferenceServers.map(({ serve }) => serve),
    services: around.services,
    ...around.detail,
    clients: around.clients,
    harness: harness.plan,
    ...writtenOn(running, [{ files: gateFiles(name, machine, needs) }, around, llamaSwap, harness]),
    ...memory,
    ...defined({ onDemand }),
    ...startsOf(withKv, memory.ledger),
    ...reachOf(machine, [...reachesOf(inferenceServers), ...llamaSwap.reach, ...around.reach]),
    commands: around.commands,
  };
  const appliedWindows = evidence.appliedWindows?.[name];
  const warnings = [
    ...machineWarnings(name, machine, memory.ledger, servers),
    ...totalWarnings(name, declared, meminfo),
    ...memoryWarnings(name, machine, { ...memory, servers: withKv, appliedWindows }),
    ...otherShares(name, machine, withKv, meminfo && evidence.appliedShares?.[name]),
    ...onDemandWarnings(name, planned),
    ...ownModelWarnings(name, machine.inferenceServers, evidence),
    ...around.warnings,
    ...(servers.length === 0 ? [] : deviceNotes(name, machine)),
  ];
  const files = [...planned.files, appliedPlan(planned, state)];
  return { machine: { ...planned, files }, warnings, unreached: around.unreached };
}

/** Folders of a machine that its servers use. */
function directoriesOf(name: string, machine: MachineSettings, { home }: Evidence) {
  const state = onMachine(machine.stateDirectory, { home });
  const gate = `${state}/${name}/start-gate`;
  return { modelCache: onMachine(machine.modelCache, { home }), state, gate, home };
}

/** The file of the start gates, where a server has one. */
const gateFiles = (
  name: string,
  machine: MachineSettings,
  needs: Parameters<typeof gateFile>[2],
): ReturnType<typeof gateFile>[] =>
  needs.servers.length === 0 ? [] : [gateFile(name, machine, needs)];

/** Machines of a fleet have like servers, and each takes longer to plan than to compare. */
const plannedKv = new WeakMap<Evidence, KeptAnswers<ServerKvResult>>();
const MOST_KEPT = 100;

/** What is known of a server's KV cache, with whose figures it rests on. */
function kvOfServer(
  machine: MachineSettings,
  { settings, model, plan: { memory } }: KnownServer,
  {
    evidence,
    ...needs
  }: { readonly evidence: Evidence } & Pick<KvContext, "least" | "maxOutputTokens">,
): ServerKvResult {
  const { device, totalGiB } = machine;
  const { hostGiB } = memory;
  const own = { totalGiB, ...needs, ...defined({ device, hostGiB }) };
  const kept = plannedKv.get(evidence) ?? keptAnswers(MOST_KEPT);
  plannedKv.set(evidence, kept);
  const found = kept(JSON.stringify([settings, own]), () =>
    serverKv(settings, { ...own, starts: evidence.starts, closeIds: evidence.closeIds }, model),
  );
  return { ...found, kv: kvOn(machine, found.kv, settings) };
}

function totalWarnings(
  machine: string,
  { totalGiB }: MachineSettings,
  meminfo: Meminfo | undefined,
): Warning[] {
  const message = meminfo && totalFault(totalGiB, meminfo.totalGiB);
  return message === undefined ? [] : [{ machine, code: "total-differs", message }];
}

/** Every server that takes memory on a machine: its own, and those of others that also run here. */
function serversOf(
  name: string,
  machine: MachineSettings,
  {
    evidence,
    ...around
  }: Omit<ServerSurroundings, "codingClients" | "digestOf"> & { readonly evidence: Evidence },
): KnownServer[] {
  const own = Object.entries(machine.inferenceServers);
  const clients = codingClients(
    machine.clients,
    own.map(([key, { model }]) => ({ key, kind: "inference-server", serves: model.kind })),
  );
  const digestOf = (place: string) => folderEvidence(evidence, [name], place)?.digest;
  return [...own, ...ofOthers(name, around.machines)].map(([key, given]) => {
    const settings = withSlots(name, withFamily(given, evidence), evidence);
    const made = plannedServer(
      { machineName: name, machine, key, server: settings },
      { ...around, codingClients: clients.get(key) ?? [], digestOf },
    );
    const model = modelEvidence(evidence, settings.model.id);
    const speed = answers(made) ? servedSpeed(settings, model?.speeds) : undefined;
    const plan = { ...made, ...defined({ speed }) };
    return { settings, model, plan, adapterBytes: adapterBytes(name, settings, evidence) };
  });
}

/** What a plan repeats of a machine's settings. */
function declaredFacts(name: string, machine: MachineSettings, home: string) {
  return {
    name,
    dockerHost: machine.dockerHost,
    network: machine.network,
    ...(isOverSsh(machine) && machine.home === undefined ? { home } : {}),
    hostInstance: hostInstanceFacts(machine),
    elevate: machine.elevate,
    waitForRequestsMinutes: machine.waitForRequestsMinutes,
    memoryFloorGiB: machine.memoryFloorGiB,
    ...defined({ device: machine.device, otherGpuMemoryGiB: machine.otherGpuMemoryGiB }),
    ...defined({ gpus: machine.gpus === 1 ? undefined : machine.gpus }),
  };
}

/** KV cache and least needs of each server, by its container. */
function startsOf(
  servers: readonly (KnownServer & { readonly kv: ServerKvResult })[],
  ledger: MemoryLedger,
): Pick<MachinePlan, "kv" | "starts"> {
  const named = servers.map((server) => [server.plan.container.name, server] as const);
  return {
    kv: Object.fromEntries(named.map(([container, { kv }]) => [container, kv.kv])),
    starts: Object.fromEntries(
      named.map(([container, server]) => [container, neededAndAdvised(server, server.kv, ledger)]),
    ),
  };
}

/** Everything that answers on a port, instance A first. */
function reachOf(
  machine: MachineSettings,
  ours: readonly Reach[],
): Pick<MachinePlan, "reach" | "endpoints"> {
  const reach = [...instanceAReach(machine), ...ours];
  return { reach, endpoints: reach.map((each) => endpointOf(each, machine.clients.host)) };
}

type OnSeveral = {
  readonly head: string;
  readonly key: string;
  readonly server: InferenceServerSettings;
};

/**
 * The servers that run on several machines: every machine of a stack looks among them for what
 * runs on it.
 */
const onSeveral = new WeakMap<StackSettings["machines"], readonly OnSeveral[]>();

/** Servers of other machines that also run on this one, by the keys that these get here. */
function ofOthers(
  name: string,
  machines: StackSettings["machines"],
): [string, InferenceServerSettings][] {
  const found = onSeveral.get(machines) ?? serversOnSeveral(machines);
  onSeveral.set(machines, found);
  return found.flatMap(({ head, key, server }): [string, InferenceServerSettings][] =>
    head !== name && server.nodes?.includes(name) ? [[keyElsewhere(head, key), server]] : [],
  );
}

const serversOnSeveral = (machines: StackSettings["machines"]): OnSeveral[] =>
  Object.entries(machines).flatMap(([head, { inferenceServers }]) =>
    Object.entries(inferenceServers).flatMap(([key, server]) =>
      server.nodes === undefined ? [] : { head, key, server },
    ),
  );

function hostInstanceFacts({ instanceA }: MachineSettings): HostInstanceFacts | "none" {
  return instanceA === "none" ? "none" : dataOf(hostInstanceSchema, defined(instanceA));
}

/** Returns the longest answer that an agent of this server may ask for, if one has such a limit. */
function longestAnswer(clients: readonly ClientPlan[], server: string): number | undefined {
  const own = clients.filter((client) => client.server === server);
  const asked = own.flatMap(({ maxOutputTokens }) => maxOutputTokens ?? []);
  return asked.length === 0 ? undefined : Math.max(...asked);
}

function instanceAReach({ instanceA }: MachineSettings): Reach[] {
  if (instanceA === "none") return [];
  const { listen, port } = instanceA;
  return [{ key: "instance-a", name: "instance A (not ours)", address: listen, port, path: "/v1" }];
}
