import { demandOf, demandOfProcess } from "../inference-server/argv/memoryDemand";
import { readServerArguments } from "../inference-server/argv/serverArguments";
import { GIB_PER_GB } from "../memory/ledger";
import { totalFinding } from "../memory/machineTotal";
import type { MachinePlan } from "../plan/types";
import { newKey } from "../planned/networkKey";
import { takenGiB, takesItsShare } from "../planned/serverMemory";
import { upToHundredth } from "../planned/utilization";
import { judgeSimpleServer } from "./judgeSimpleServer";
import type { DockerFacts, MachineFacts, PreflightFinding } from "./types";

/** Judges what was read against what is planned. Pure; every finding carries its figures. */
export function judgeMachine(machine: MachinePlan, facts: MachineFacts): PreflightFinding[] {
  return [
    ...dockerFindings(machine, facts),
    ...hostInstanceFindings(machine, facts),
    ...memoryFindings(machine, facts),
    ...portFindings(machine, facts),
    ...facts.directories.flatMap((directory) =>
      directory.problem === undefined
        ? []
        : [
            refused(
              `The model cache ${directory.path} can't be used: ${directory.problem}. Make it, or set \`modelCache\`.`,
            ),
          ],
    ),
    ...facts.fileFolders.flatMap((folder) =>
      folder.problem === undefined
        ? []
        : [refused(`Nothing can be written in ${folder.path}: ${folder.problem}.`)],
    ),
    ...facts.faultyVariables.map(({ name, fault }) => {
      const set = machine.bridge?.key?.variable === name ? newKey(name) : `export ${name}=...`;
      return refused(
        `${name} ${fault}, and a secret file takes its value from it. Set it in this shell: \`${set}\`.`,
      );
    }),
    ...judgeSimpleServer(machine, facts.simpleServer),
  ];
}

/** Machines whose Docker engine is one: their sums would each be right, and together too much. */
export function judgeEngines(
  machines: readonly { readonly name: string; readonly docker: DockerFacts }[],
): (PreflightFinding & { readonly machine: string })[] {
  const first = new Map<string, string>();
  return machines.flatMap(({ name, docker }) => {
    const id = docker.reachable ? docker.id : undefined;
    if (id === undefined) return [];
    const other = first.get(id);
    if (other === undefined) {
      first.set(id, name);
      return [];
    }
    const message = `${name} and ${other} are on one Docker engine (ID ${id}), so they are one machine with one memory: put their servers below one of them, or give each its own \`dockerHost\`.`;
    return [{ ...refused(message), machine: name }];
  });
}

function dockerFindings(machine: MachinePlan, { docker }: MachineFacts): PreflightFinding[] {
  if (!docker.reachable) {
    return [
      refused(
        `No Docker engine answers at ${machine.dockerHost} (${docker.reason}). Start it (\`sudo systemctl start docker\`), or join the group \`docker\` and log in again.`,
      ),
    ];
  }
  const findings = docker.missingBridge === undefined ? [] : [bridgeFinding(docker.missingBridge)];
  if (docker.gpuRuntime || machine.containers.every((container) => container.gpus === null)) return findings;
  return [
    ...findings,
    refused(
      "Docker has no GPU runtime. Install the NVIDIA Container Toolkit, run `sudo nvidia-ctk runtime configure --runtime=docker` and restart Docker.",
    ),
  ];
}

function bridgeFinding(bridge: string): PreflightFinding {
  return warned(
    `Docker's own bridge \`${bridge}\` is missing: something removed it, and containers can't start without it. Restart Docker, which makes it again: \`sudo systemctl restart docker\`.`,
  );
}

/** Instance A is only ever read. What it really runs with decides whether the ledger can be believed. */
function hostInstanceFindings(
  { hostInstance, ledger }: MachinePlan,
  { listeners, memory }: MachineFacts,
): PreflightFinding[] {
  if (hostInstance === "none") return [];
  const { port, gpuMemoryUtilization } = hostInstance;
  const listener = listeners.find((each) => each.port === port);
  if (listener === undefined) {
    return [
      warned(
        `Nothing listens on port ${port}: instance A is not running. Its declared share of ${gpuMemoryUtilization} stays reserved; write \`instanceA: none\` if it is gone for good.`,
      ),
    ];
  }
  const demand = listener.argv === undefined ? undefined : demandOfProcess(listener.argv);
  if (demand === undefined) {
    return [
      warned(
        `How instance A (port ${port}) was started can't be read${listener.argv === undefined ? ", since it belongs to another user" : ""}: its declared utilization of ${gpuMemoryUtilization} is believed.`,
      ),
    ];
  }
  const actual = demand.utilization;
  if (!takesItsShare(demand)) {
    const totalGiB = memory?.totalGiB ?? ledger.totalGiB;
    const { weightsGB } = hostInstance;
    const outside = weightsGB === undefined ? {} : { outsideGiB: weightsGB * GIB_PER_GB };
    const taken = takenGiB({ ...demand, ...outside }, totalGiB);
    const share = upToHundredth(taken / totalGiB);
    if (taken <= gpuMemoryUtilization * totalGiB) return [];
    return [
      refused(
        `Instance A on port ${port} runs with utilization ${actual} and memory beside it (\`--kv-cache-memory-bytes\`, offloading or swap): it takes up to ${taken.toFixed(2)} GiB, and ${gpuMemoryUtilization} is declared. Declare \`instanceA.gpuMemoryUtilization: ${share}\`${weightsGB === undefined ? " (less, once `instanceA.weightsGB` says what its weights take)" : ""}, or restart instance A yourself without those flags.`,
      ),
    ];
  }
  if (Math.abs(actual - gpuMemoryUtilization) < 1e-6) return [];
  return [
    refused(
      `Instance A on port ${port} runs with utilization ${actual}, and ${gpuMemoryUtilization} is declared. Declare what it runs with (\`instanceA.gpuMemoryUtilization\`), or restart instance A yourself with the declared value.`,
    ),
  ];
}

/** vLLM's own admission rule, with the memory of our running servers counted as free: they are being replaced. */
function memoryFindings(machine: MachinePlan, { memory, docker }: MachineFacts): PreflightFinding[] {
  const servers = machine.inferenceServers.length;
  if (memory === undefined)
    return servers === 0
      ? []
      : [warned("MemAvailable can't be read, so it is not known whether the servers find room.")];
  const findings: PreflightFinding[] = [];
  const total = totalFinding(machine.ledger.totalGiB, memory.totalGiB);
  if (total !== undefined) findings.push(total);
  if (servers === 0) return findings;
  // vLLM takes its share of what the machine has, whatever is declared.
  const { totalGiB } = memory;
  const running = docker.reachable ? docker.containers : [];
  const { fixedKvCache = {} } = machine.ledger;
  // Of a server that is replaced the weights are known by its name; of any other its share and its bytes count alone.
  const held = running.reduce((sum, { name, gpuMemoryUtilization: utilization = 0, memory: asked }) => {
    const outsideGiB = fixedKvCache[name]?.outsideGiB ?? 0;
    return sum + takenGiB({ utilization, ...asked, outsideGiB }, totalGiB);
  }, 0);
  const wanted = machine.inferenceServers.reduce((sum, { serve, container }) => {
    const demand = demandOf(readServerArguments(container.command));
    const asked = demand.known ? demand.memory : { utilization: serve.gpuMemoryUtilization };
    return sum + takenGiB({ ...asked, ...fixedKvCache[container.name] }, totalGiB);
  }, 0);
  if (memory.availableGiB + held < wanted) {
    const names = machine.inferenceServers.map((server) => server.container.name).join(", ");
    findings.push(
      refused(
        `Not enough memory for ${names}: ${wanted.toFixed(2)} GiB are wanted (utilization x ${totalGiB.toFixed(2)} GiB${Object.keys(fixedKvCache).length > 0 ? ", or what `kvCacheMemoryBytes` takes" : ""}), MemAvailable is ${memory.availableGiB.toFixed(2)} GiB${held > 0 ? ` and our running servers hold ${held.toFixed(2)} GiB` : ""}. Free memory, or lower \`gpuMemoryUtilization\`. Nothing was touched.`,
      ),
    );
  }
  return findings;
}

function portFindings(machine: MachinePlan, { listeners, docker }: MachineFacts): PreflightFinding[] {
  const ours = new Set(
    docker.reachable ? docker.containers.flatMap(({ ports }) => ports.map(({ host }) => host)) : [],
  );
  const planned = machine.containers.flatMap((container) =>
    container.ports.map((port) => ({ name: container.name, port: port.host })),
  );
  return planned
    .filter(({ port }) => !ours.has(port) && listeners.some((listener) => listener.port === port))
    .map(({ name, port }) =>
      refused(
        `Port ${port} of ${name} is taken by something that isn't ours. Look with \`ss -lntp 'sport = :${port}'\`, then stop it or choose another \`port\`.`,
      ),
    );
}

function refused(message: string): PreflightFinding {
  return { verdict: "refused", message };
}

function warned(message: string): PreflightFinding {
  return { verdict: "warned", message };
}
