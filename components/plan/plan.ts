import { plannedHarnessFiles } from "../harness-files/plannedHarnessFiles";
import { plannedServer } from "../inference-server/plannedServer";
import type { MachineSettings } from "../settings/machine";
import type { StackSettings } from "../settings/stackSettings";
import { plannedSimpleServer } from "../simple-server/plannedSimpleServer";
import { appliedPlan } from "./appliedPlan";
import { type Evidence, onMachine } from "./evidence";
import { ledger, type MemoryShare, type OtherConsumer } from "./ledger/ledger";
import { services } from "./services";
import type {
  ClientPlan,
  Endpoint,
  HostInstanceFacts,
  InferenceServerPlan,
  MachinePlan,
  Plan,
  Warning,
} from "./types";
import { machineWarnings } from "./warnings";

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
  machine: MachineSettings,
  evidence: Evidence,
): { machine: MachinePlan; warnings: Warning[] } {
  const directories = {
    modelCache: onMachine(machine.modelCache, evidence),
    state: onMachine(machine.stateDirectory, evidence),
  };
  const inferenceServers = Object.entries(machine.inferenceServers).map(([key, server]) =>
    plannedServer(name, machine, key, server, directories),
  );
  const simple = plannedSimpleServer(machine);
  const around = services(name, machine, evidence, inferenceServers, simple.simpleServer);
  const servers = inferenceServers.map((server) => withClients(server, around.clients));
  const reached = servers.flatMap(serverEndpoints);
  const served = { servers, endpoints: reached, simpleServer: simple.simpleServer };
  const harnessFiles = plannedHarnessFiles(machine, served, (path) => onMachine(path, evidence));
  const memory = ledger(machine.totalGiB, memoryShares(machine, servers), [
    ...around.memory,
    operatingSystem(machine, evidence),
    ...simple.memory,
  ]);
  const planned: MachinePlan = {
    name,
    dockerHost: machine.dockerHost,
    network: machine.network,
    hostInstance: hostInstanceFacts(machine),
    inferenceServers: servers,
    bridge: around.bridge,
    chatUi: around.chatUi,
    clients: around.clients,
    containers: [...servers.map((server) => server.container), ...around.containers],
    files: [...simple.files, ...around.files, ...harnessFiles],
    secretFiles: [...servers.flatMap((server) => server.tokenFile ?? []), ...around.secretFiles],
    simpleServer: simple.simpleServer,
    elevate: machine.elevate,
    ledger: memory,
    kv: Object.fromEntries(servers.map((server) => [server.container.name, null])),
    endpoints: [...hostEndpoints(machine), ...reached, ...simple.endpoints, ...around.endpoints],
    commands: [...simple.commands],
  };
  const files = [...planned.files, appliedPlan(planned, directories.state)];
  const warnings = [...machineWarnings(name, machine, memory), ...around.warnings];
  return { machine: { ...planned, files }, warnings };
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

function memoryShares(machine: MachineSettings, servers: readonly InferenceServerPlan[]): MemoryShare[] {
  const { instanceA, inferenceServers } = machine;
  const ours = servers.flatMap((server): MemoryShare[] => {
    const settings = inferenceServers[server.key];
    if (settings === undefined) return [];
    return [
      {
        name: server.container.name,
        utilization: settings.gpuMemoryUtilization,
        ours: true,
        compileJobs: settings.compileJobs,
        ...(settings.model.weightsGB === undefined ? {} : { weightsGB: settings.model.weightsGB }),
      },
    ];
  });
  if (instanceA === "none") return ours;
  return [{ name: "instance A", utilization: instanceA.gpuMemoryUtilization, ours: false }, ...ours];
}

function operatingSystem(machine: MachineSettings, _evidence: Evidence): OtherConsumer {
  return {
    name: "operating system",
    gib: machine.operatingSystemGiB,
    basis: "default",
    source: "operatingSystemGiB, unmeasured (17 to 20 GiB have been seen)",
  };
}

function hostEndpoints({ instanceA }: MachineSettings): Endpoint[] {
  return instanceA === "none"
    ? []
    : [{ name: "instance A (not ours)", url: `http://127.0.0.1:${instanceA.port}/v1` }];
}

function serverEndpoints(server: InferenceServerPlan): Endpoint[] {
  return server.container.ports.map((port) => ({
    name: server.container.name,
    url: `http://${port.ip === "0.0.0.0" ? "127.0.0.1" : port.ip}:${port.host}/v1`,
  }));
}
