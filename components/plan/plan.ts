import type { ClientPlan } from "../clients/plannedClients";
import { plannedHarness } from "../harness-files/plannedHarness";
import { type InferenceServerPlan, plannedServer } from "../inference-server/plannedServer";
import { gateFile } from "../inference-server/startGate";
import { weightsGB } from "../memory/kvRoom";
import { ledger, type MemoryShare, type OtherConsumer } from "../memory/ledger";
import { plannedTotal, totalFault } from "../memory/machineTotal";
import { admissionOnPaper, meminfoUse, type Share } from "../memory/meminfoUse";
import { memoryWarnings } from "../memory/memoryWarnings";
import { type ServerKvResult, serverKv } from "../memory/serverKv";
import { type Evidence, type Meminfo, onMachine } from "../planned/evidence";
import type { HostInstanceFacts } from "../planned/hostInstance";
import { endpointOf, type Reach } from "../planned/reach";
import type { Warning } from "../planned/warning";
import { DEFAULT_OPERATING_SYSTEM_GIB, type MachineSettings } from "../settings/machine";
import type { StackSettings } from "../settings/stackSettings";
import { plannedSimpleServer } from "../simple-server/plannedSimpleServer";
import { appliedPlan } from "./appliedPlan";
import { services } from "./services";
import type { MachinePlan, Plan } from "./types";
import { machineWarnings } from "./warnings";

/** Names of ledger lines that other parts look for. */
const INSTANCE_A = "instance A";
const OPERATING_SYSTEM = "operating system";

/** Computes everything that a stack file asks for. Pure: the same input gives the same bytes. */
export function plan(settings: StackSettings, evidence: Evidence): Plan {
  const planned = Object.entries(settings.machines).map(([name, machine]) =>
    machinePlan(name, machine, evidence),
  );
  return {
    machines: planned.map(({ machine }) => machine),
    warnings: planned.flatMap(({ warnings }) => warnings),
  };
}

function machinePlan(
  name: string,
  declared: MachineSettings,
  evidence: Evidence,
): { machine: MachinePlan; warnings: Warning[] } {
  const meminfo = evidence.meminfo?.[name];
  const machine = { ...declared, totalGiB: plannedTotal(declared.totalGiB, meminfo?.totalGiB) };
  const state = onMachine(machine.stateDirectory, evidence);
  const directories = {
    modelCache: onMachine(machine.modelCache, evidence),
    state,
    gate: `${state}/${name}/start-gate`,
  };
  const inferenceServers = Object.entries(machine.inferenceServers).map(([key, server]) =>
    plannedServer(name, machine, key, server, directories),
  );
  const simple = plannedSimpleServer(machine);
  const around = services(name, machine, evidence, inferenceServers, simple.simpleServer);
  const servers = inferenceServers.map((server) => withClients(server, around.clients));
  const served = { servers, simpleServer: simple.simpleServer };
  const harness = plannedHarness(machine, served, (path) => onMachine(path, evidence));
  const shares = memoryShares(machine, servers, evidence);
  const memory = ledger(machine.totalGiB, shares, [
    ...around.memory,
    operatingSystem(machine, shares, meminfo),
    ...simple.memory,
  ]);
  const kv = kvPlans(machine, servers, around.clients, evidence);
  const reach = [
    ...instanceAReach(machine),
    ...servers.map((server) => server.reach),
    ...simple.reach,
    ...around.reach,
  ];
  const planned: MachinePlan = {
    name,
    dockerHost: machine.dockerHost,
    network: machine.network,
    hostInstance: hostInstanceFacts(machine),
    inferenceServers: servers,
    serve: servers.map(({ serve }) => serve),
    bridge: around.bridge,
    chatUi: around.chatUi,
    clients: around.clients,
    harness: harness.plan,
    containers: [...servers.map((server) => server.container), ...around.containers],
    files: [
      ...(servers.length === 0 ? [] : [gateFile(machine, directories.gate)]),
      ...simple.files,
      ...around.files,
      ...harness.files,
    ],
    secretFiles: [...servers.flatMap((server) => server.tokenFile ?? []), ...around.secretFiles],
    simpleServer: simple.simpleServer,
    elevate: machine.elevate,
    ledger: memory,
    kv: Object.fromEntries(Object.entries(kv).map(([container, result]) => [container, result.kv])),
    admission: admission(shares, meminfo),
    reach,
    endpoints: reach.map(endpointOf),
    commands: [...simple.commands],
  };
  const files = [...planned.files, appliedPlan(planned, directories.state)];
  const warnings = [
    ...machineWarnings(name, machine, memory, evidence.models),
    ...totalWarnings(name, declared, meminfo),
    ...memoryWarnings(name, machine, planned, kv, evidence.appliedWindows?.[name]),
    ...around.warnings,
  ];
  return { machine: { ...planned, files }, warnings };
}

function totalWarnings(
  machine: string,
  { totalGiB }: MachineSettings,
  meminfo: Meminfo | undefined,
): Warning[] {
  const message = meminfo === undefined ? undefined : totalFault(totalGiB, meminfo.totalGiB);
  return message === undefined ? [] : [{ machine, code: "total-differs", message }];
}

function withClients(server: InferenceServerPlan, clients: readonly ClientPlan[]): InferenceServerPlan {
  const coding = clients.filter((client) => client.coding && client.server === server.key);
  return { ...server, codingClients: coding.map((client) => client.client) };
}

function hostInstanceFacts({ instanceA }: MachineSettings): HostInstanceFacts | "none" {
  if (instanceA === "none") return "none";
  const { port, gpuMemoryUtilization, maxModelLen, model, weightsGB } = instanceA;
  return {
    port,
    gpuMemoryUtilization,
    ...(maxModelLen === undefined ? {} : { maxModelLen }),
    ...(model === undefined ? {} : { model }),
    ...(weightsGB === undefined ? {} : { weightsGB }),
  };
}

function memoryShares(
  machine: MachineSettings,
  servers: readonly InferenceServerPlan[],
  { models }: Evidence,
): MemoryShare[] {
  const { instanceA, inferenceServers } = machine;
  const ours = servers.flatMap((server): MemoryShare[] => {
    const settings = inferenceServers[server.key];
    if (settings === undefined) return [];
    const weights = weightsGB(settings, models?.[settings.model.id]);
    return [
      {
        name: server.container.name,
        utilization: settings.gpuMemoryUtilization,
        ours: true,
        compileJobs: compileJobs(server.container, settings.compileJobs),
        ...(weights === undefined ? {} : { weightsGB: weights }),
      },
    ];
  });
  if (instanceA === "none") return ours;
  return [{ name: INSTANCE_A, utilization: instanceA.gpuMemoryUtilization, ours: false }, ...ours];
}

/** A variable of the operator's own wins over the setting, in the container and here. */
function compileJobs({ env }: InferenceServerPlan["container"], declared: number): number {
  const jobs = Number(env.MAX_JOBS);
  return Number.isInteger(jobs) && jobs > 0 ? jobs : declared;
}

function kvPlans(
  machine: MachineSettings,
  servers: readonly InferenceServerPlan[],
  clients: readonly ClientPlan[],
  { models }: Evidence,
): Record<string, ServerKvResult> {
  return Object.fromEntries(
    servers.flatMap(({ key, container }) => {
      const settings = machine.inferenceServers[key];
      if (settings === undefined) return [];
      const given = { totalGiB: machine.totalGiB, maxOutputTokens: longestAnswer(clients, key) };
      return [[container.name, serverKv(settings, given, models?.[settings.model.id])]];
    }),
  );
}

/** What the agents of a server may be answered at most, where one of them says so. */
function longestAnswer(clients: readonly ClientPlan[], server: string): number | undefined {
  const asked = clients
    .filter((client) => client.server === server)
    .flatMap(({ maxOutputTokens }) => maxOutputTokens ?? []);
  return asked.length === 0 ? undefined : Math.max(...asked);
}

/** The system's line is a default until it was declared, or measured by a copy of the machine's meminfo. */
function operatingSystem(
  { operatingSystemGiB: gib }: MachineSettings,
  shares: readonly MemoryShare[],
  meminfo: Meminfo | undefined,
): OtherConsumer {
  const name = OPERATING_SYSTEM;
  if (meminfo !== undefined) {
    const { operatingSystemGiB, source } = meminfoUse(meminfo, ...byOwner(shares));
    return { name, gib: operatingSystemGiB, basis: "measured", source };
  }
  return gib === DEFAULT_OPERATING_SYSTEM_GIB
    ? { name, gib, basis: "default", source: "operatingSystemGiB, unmeasured (17 to 20 GiB have been seen)" }
    : { name, gib, basis: "setting", source: "operatingSystemGiB" };
}

function admission(shares: readonly MemoryShare[], meminfo: Meminfo | undefined): MachinePlan["admission"] {
  return meminfo === undefined ? [] : admissionOnPaper(meminfo, ...byOwner(shares));
}

function byOwner(shares: readonly MemoryShare[]): [instanceA: Share | undefined, ours: readonly Share[]] {
  return [shares.find((share) => !share.ours), shares.filter((share) => share.ours)];
}

function instanceAReach({ instanceA }: MachineSettings): Reach[] {
  if (instanceA === "none") return [];
  return [{ name: "instance A (not ours)", address: instanceA.listen, port: instanceA.port, path: "/v1" }];
}
