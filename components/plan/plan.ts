import { defined } from "../../faults/defined";
import { FaultyInput } from "../../faults/fault";
import type { ClientPlan } from "../clients/plannedClients";
import { plannedHarness } from "../harness-files/plannedHarness";
import { plannedServer } from "../inference-server/plannedServer";
import { gateFile } from "../inference-server/startGate";
import { type KnownServer, leastMemory, machineMemory, plannedTotal, totalFault } from "../memory/machineMemory";
import { memoryWarnings } from "../memory/memoryWarnings";
import { serverKv } from "../memory/serverKv";
import { startNeeds } from "../memory/startNeeds";
import { type Evidence, homeOn, modelEvidence, onMachine } from "../planned/evidence";
import { type HostInstanceFacts, NOTES, type Warning } from "../planned/facts";
import { workerKey } from "../planned/rank";
import { endpointOf, isOverSsh, type Reach } from "../planned/reach";
import type { InferenceServerSettings } from "../settings/inferenceServer";
import type { MachineSettings } from "../settings/machine";
import { machineFault } from "../settings/places";
import type { MachineFault } from "../settings/referenceFaults";
import type { StackSettings } from "../settings/stackSettings";
import { plannedSimpleServer } from "../simple-server/plannedSimpleServer";
import { appliedPlan } from "./appliedPlan";
import { modelFaults, withFamily, writtenTwice } from "./planFaults";
import { services } from "./services";
import type { MachinePlan, Plan } from "./types";
import { machineWarnings } from "./warnings";

const LEAVE_THEM = "Or leave the clients' files on the machine: `clients.on: machine`.";

/**
 * Computes everything that a stack file asks for. Pure: the same input gives the same bytes. Throws `FaultyInput` where two
 * files have one path, a client can't reach what it talks to, or what is declared of a model isn't so by the evidence.
 */
export function plan(settings: StackSettings, evidence: Evidence): Plan {
  const planned = Object.entries(settings.machines).map(([name, machine]) =>
    machinePlan(name, machine, settings.machines, evidence),
  );
  const machines = planned.map(({ machine }) => machine);
  const faults = [
    ...writtenTwice(machines),
    ...modelFaults(settings, evidence),
    ...planned.flatMap(({ machine: { name, files }, unreached }) =>
      (files.some(({ here }) => here) ? unreached : []).map((fault) =>
        machineFault(settings, name, { ...fault, message: `${fault.message} ${LEAVE_THEM}` }),
      ),
    ),
  ];
  if (faults.length > 0) throw new FaultyInput("stack file", faults);
  const marked = (warning: Warning): Warning => (NOTES.has(warning.code) ? { ...warning, note: true } : warning);
  return { machines, warnings: planned.flatMap(({ warnings }) => warnings.map(marked)) };
}

/** The same for one machine of them, without what needs all to be seen. */
export function machinePlan(
  name: string,
  declared: MachineSettings,
  machines: StackSettings["machines"],
  given: Evidence,
): { machine: MachinePlan; warnings: Warning[]; unreached: readonly MachineFault[] } {
  const evidence = { ...given, homeHere: given.home, home: homeOn(declared, given) };
  const meminfo = evidence.meminfo?.[name];
  const { totalGiB } = declared;
  const totalOf = (each: string) =>
    plannedTotal(machines[each]?.totalGiB ?? totalGiB, evidence.meminfo?.[each]?.totalGiB);
  const machine = { ...declared, totalGiB: totalOf(name) };
  const state = onMachine(machine.stateDirectory, evidence);
  const directories = {
    modelCache: onMachine(machine.modelCache, evidence),
    state,
    gate: `${state}/${name}/start-gate`,
  };
  const declaredServers = [...Object.entries(machine.inferenceServers), ...workers(name, machines)].map(
    ([key, given]) => {
      const settings = withFamily(given, evidence);
      return {
        settings,
        model: modelEvidence(evidence, settings.model.id),
        plan: plannedServer(name, machine, key, settings, directories, machines),
      };
    },
  );
  const answers = ({ plan: { rank } }: KnownServer) => rank === undefined || rank.index === 0;
  const simple = plannedSimpleServer(name, machine);
  const plans = declaredServers.filter(answers).map((server) => server.plan);
  const around = services(name, machine, evidence, plans, simple.simpleServer, machines);
  const known = declaredServers.map((server) => withClients(server, around.clients));
  const memory = machineMemory(machine, known, around.memory, simple.memory, meminfo);
  const servers = known.map((server) => {
    const maxOutputTokens = longestAnswer(around.clients, server.plan.key);
    const least = leastMemory(name, server.settings.nodes, totalOf);
    const memory = { totalGiB: machine.totalGiB, least };
    return { ...server, kv: serverKv(server.settings, { ...memory, maxOutputTokens }, server.model) };
  });
  const inferenceServers = known.filter(answers).map((server) => server.plan);
  const ranks = known.filter((server) => !answers(server)).map((server) => server.plan);
  const running = [...inferenceServers, ...ranks];
  const served = { servers: inferenceServers, simpleServer: simple.simpleServer };
  const harness = plannedHarness(name, machine, served, (path) => onMachine(path, evidence));
  const reach = [
    ...instanceAReach(machine),
    ...inferenceServers.map((server) => server.reach),
    ...simple.reach,
    ...around.reach,
  ];
  const planned: MachinePlan = {
    name,
    dockerHost: machine.dockerHost,
    network: machine.network,
    ...(isOverSsh(machine) && machine.home === undefined ? { home: evidence.home } : {}),
    hostInstance: hostInstanceFacts(machine),
    inferenceServers,
    ranks,
    serve: inferenceServers.map(({ serve }) => serve),
    bridge: around.bridge,
    chatUi: around.chatUi,
    clients: around.clients,
    harness: harness.plan,
    containers: [...running.map((server) => server.container), ...around.containers],
    files: [
      ...(running.length === 0 ? [] : [gateFile(name, machine, running, memory.ledger.lines, directories.gate)]),
      ...simple.files,
      ...around.files,
      ...harness.files,
    ],
    secretFiles: [...running.flatMap((server) => server.tokenFile ?? []), ...around.secretFiles],
    simpleServer: simple.simpleServer,
    elevate: machine.elevate,
    waitForRequestsMinutes: machine.waitForRequestsMinutes,
    memoryFloorGiB: machine.memoryFloorGiB,
    ledger: memory.ledger,
    ...defined({ otherGpuMemoryGiB: machine.otherGpuMemoryGiB }),
    ...defined({ gpus: machine.gpus === 1 ? undefined : machine.gpus }),
    kv: Object.fromEntries(servers.map((server) => [server.plan.container.name, server.kv.kv])),
    starts: Object.fromEntries(
      servers.map((server) => [server.plan.container.name, startNeeds(server, machine.totalGiB, server.kv)]),
    ),
    admission: memory.admission,
    reach,
    endpoints: reach.map((each) => endpointOf(each, machine.clients.host)),
    commands: [...simple.commands],
  };
  const files = [...planned.files, appliedPlan(planned, directories.state)];
  const wrongTotal = meminfo && totalFault(totalGiB, meminfo.totalGiB);
  const warnings = [
    ...machineWarnings(name, machine, memory.ledger, known),
    ...(wrongTotal === undefined ? [] : [{ machine: name, code: "total-differs", message: wrongTotal }]),
    ...memoryWarnings(name, machine, servers, memory, evidence.appliedWindows?.[name]),
    ...around.warnings,
  ];
  return { machine: { ...planned, files }, warnings, unreached: around.unreached };
}

type OnSeveral = { readonly head: string; readonly key: string; readonly server: InferenceServerSettings };

/** The servers that run on several machines: every machine of a stack looks for its ranks among them. */
const onSeveral = new WeakMap<StackSettings["machines"], readonly OnSeveral[]>();

/** Servers of other machines that have a rank on this one, by the keys that these get here. */
function workers(name: string, machines: StackSettings["machines"]): [string, InferenceServerSettings][] {
  const found = onSeveral.get(machines) ?? serversOnSeveral(machines);
  onSeveral.set(machines, found);
  return found.flatMap(({ head, key, server }): [string, InferenceServerSettings][] =>
    head !== name && server.nodes?.includes(name) ? [[workerKey(head, key), server]] : [],
  );
}

const serversOnSeveral = (machines: StackSettings["machines"]): OnSeveral[] =>
  Object.entries(machines).flatMap(([head, { inferenceServers }]) =>
    Object.entries(inferenceServers).flatMap(([key, server]) =>
      server.nodes === undefined ? [] : { head, key, server },
    ),
  );

function withClients(server: KnownServer, clients: readonly ClientPlan[]): KnownServer {
  const coding = clients.filter((client) => client.coding && client.server === server.plan.key);
  return { ...server, plan: { ...server.plan, codingClients: coding.map((client) => client.client) } };
}

function hostInstanceFacts({ instanceA }: MachineSettings): HostInstanceFacts | "none" {
  if (instanceA === "none") return "none";
  const { port, gpuMemoryUtilization, maxModelLen, model, weightsGB } = instanceA;
  return defined({ port, gpuMemoryUtilization, maxModelLen, model, weightsGB });
}

/** What the agents of a server may be answered at most, where one of them says so. */
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
