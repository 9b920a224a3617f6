import { deviceText } from "@local-serving/machines/devices/devices";
import type { DockerFacts } from "@local-serving/machines/docker/engine";
import { shareWithin, takenGiB, takesItsShare } from "@local-serving/vllm/utilization";
import { FEATURES } from "../features";
import { type PreflightFinding, refused, warned } from "../features/kind";
import { adviseShare, shareRoom, totalFinding } from "../memory";
import type { MachinePlan } from "../plan";
import { serversOn } from "../planned";
import { knownTroubles } from "../supply";
import { explained, isCertain, roomProblem } from "./fetch";
import { hostInstanceFindings } from "./judgeHostInstance";
import { judgeOnDemand } from "./judgeOnDemand";
import { judgeSimpleServer } from "./judgeSimpleServer";
import { ownFolderFindings } from "./ownFolders";
import { takenPort } from "./takenPort";
import type { MachineFacts } from "./types";
import { unweighedModels } from "./unweighedModels";
import { exportOf } from "./variables";

/** Judges what was read against what is planned. Pure; every finding carries its figures. */
export function judgeMachine(machine: MachinePlan, facts: MachineFacts): PreflightFinding[] {
  return [
    ...dockerFindings(machine, facts),
    ...deviceFindings(machine, facts),
    ...FEATURES.flatMap((each, index) => each.preflight.judge(machine, facts.ofFeatures?.[index])),
    ...knownTroubles(facts.kernel).map((each) => warned(each)),
    ...hostInstanceFindings(machine, facts),
    ...memoryFindings(machine, facts),
    ...portFindings(machine, facts),
    ...facts.directories.flatMap(({ path, problem }) => {
      if (problem === undefined) return [];
      const message = `The model cache ${path} can't be used: ${problem}. Create it, or set \`modelCache\`.`;
      return refused(message, "modelCache");
    }),
    ...ownFolderFindings(machine, facts),
    ...facts.fileFolders.flatMap(({ path, problem }) =>
      problem === undefined ? [] : refused(`Nothing can be written in ${path}: ${problem}.`),
    ),
    ...facts.faultyVariables.map(({ name, fault }) =>
      refused(
        `${name} ${fault}, but a secret file takes its value from it. Set it in this shell: \`${exportOf(machine, name)}\`.`,
      ),
    ),
    ...judgeSimpleServer(machine, facts.simpleServer),
    ...judgeOnDemand(machine, facts),
    ...roomFindings(facts),
    ...modelFindings(machine, facts),
    ...unweighedModels(machine, facts),
  ];
}

/** Checks that there is room for what `up` pulls and its servers load, before anything stops. */
function roomFindings({ needs }: MachineFacts): PreflightFinding[] {
  const problem = needs && roomProblem(needs);
  return problem === undefined
    ? []
    : [refused(`${problem} \`serving fetch --check\` lists what is missing.`)];
}

/**
 * Finds models that a server would wait for in vain, before one that runs is replaced. Where the
 * hub doesn't answer, nobody knows.
 */
function modelFindings(
  { inferenceServers }: MachinePlan,
  { needs }: MachineFacts,
): PreflightFinding[] {
  // Of adapters their own finding says what is missing.
  const adapters = inferenceServers.flatMap((server) => server.adapters ?? []);
  return (needs?.models ?? []).flatMap((model) => {
    const { name, problem } = model;
    if (problem === undefined || adapters.some(({ id }) => id === name)) return [];
    if (!isCertain(problem)) {
      const message = `${name} is not complete in the model cache, and the hub doesn't say whether it has the model (${problem}). Its server can't start without it: \`serving fetch\` downloads it first.`;
      return warned(message);
    }
    const own = inferenceServers.find(({ serve }) => serve.model === name);
    const setting = own && `inferenceServers.${own.key}.model.id`;
    return refused(
      `${explained(model, problem, "`serving up` again")} Nothing was touched.`,
      setting,
    );
  });
}

/**
 * Finds machines that share one Docker engine: each sum would be right, and together they would be
 * too much.
 */
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
    return [{ ...refused(message, "dockerHost"), machine: name }];
  });
}

/** Refuses a device that isn't the machine's: its figures would be another machine's. */
function deviceFindings({ device }: MachinePlan, facts: MachineFacts): PreflightFinding[] {
  if (device === undefined || facts.device === undefined || device === facts.device) return [];
  const message = `\`device: ${device}\` is declared, which is ${deviceText(device)}, and this machine is ${deviceText(facts.device)}.`;
  return [refused(message, "device", facts.device)];
}

/** How a refusal begins that Docker's silence is the reason for. */
export const noEngineText = ({ dockerHost }: Pick<MachinePlan, "dockerHost">): string =>
  `No Docker engine answers at ${dockerHost}`;

function dockerFindings(machine: MachinePlan, { docker }: MachineFacts): PreflightFinding[] {
  if (!docker.reachable) {
    const message = `${noEngineText(machine)} (${docker.reason}). Start it (\`sudo systemctl start docker\`), or join the group \`docker\` and log in again.`;
    return [refused(message)];
  }
  const { missingBridge, gpuRuntime } = docker;
  const findings: PreflightFinding[] = [];
  if (missingBridge !== undefined)
    findings.push(
      warned(
        `Docker's own bridge \`${missingBridge}\` is missing: something removed it, and containers can't start without it. Restart Docker, which makes it again: \`sudo systemctl restart docker\`.`,
      ),
    );
  if (!gpuRuntime && machine.containers.some(({ gpus }) => gpus !== null))
    findings.push(
      refused(
        "Docker has no GPU runtime. Install the NVIDIA Container Toolkit, run `sudo nvidia-ctk runtime configure --runtime=docker` and restart Docker.",
      ),
    );
  return findings;
}

/**
 * Applies vLLM's own admission rule. The memory of our running servers counts as free, since they
 * are being replaced.
 */
function memoryFindings(
  machine: MachinePlan,
  { memory, docker }: MachineFacts,
): PreflightFinding[] {
  const up = docker.reachable ? docker.containers : [];
  // Nothing starts those that start on request; those that run go on.
  const servers = serversOn(machine).filter(
    ({ container }) =>
      container.start === undefined || up.some(({ name }) => name === container.name),
  );
  if (memory === undefined)
    return servers.length === 0
      ? []
      : [warned("MemAvailable can't be read, so it is not known whether the servers have room.")];
  const findings: PreflightFinding[] = [];
  const total = totalFinding(machine.ledger.totalGiB, memory.totalGiB);
  if (total !== undefined) findings.push(total);
  if (servers.length === 0) return findings;
  // vLLM takes its share of what the machine has, whatever is declared.
  const { totalGiB } = memory;
  const { fixedKvCache = {} } = machine.ledger;
  // Between two starts, a container's memory is free already.
  const running = up.filter(({ status }) => status !== "restarting");
  // The weights of a replaced server are known by its name. Any other server counts by its share
  // and its bytes alone.
  const held = running.reduce(
    (sum, { name, gpuMemoryUtilization: utilization = 0, memory: asked }) => {
      const outsideGiB = fixedKvCache[name]?.outsideGiB ?? 0;
      return sum + takenGiB({ utilization, ...asked, outsideGiB }, totalGiB);
    },
    0,
  );
  const asked = servers.map((server) => ({
    server,
    demand: { ...server.memory, ...fixedKvCache[server.container.name] },
  }));
  return [...findings, ...shortage(machine, asked, { ...memory, held })];
}

/** What is said where the demands exceed what is available and what `held` gives back, in GiB. */
function shortage(
  machine: MachinePlan,
  asked: readonly {
    readonly server: ReturnType<typeof serversOn>[number];
    readonly demand: Parameters<typeof takenGiB>[0];
  }[],
  { totalGiB, availableGiB, held }: NonNullable<MachineFacts["memory"]> & { readonly held: number },
): PreflightFinding[] {
  const wanted = asked.reduce((sum, { demand }) => sum + takenGiB(demand, totalGiB), 0);
  const freeGiB = availableGiB + held;
  if (freeGiB >= wanted) return [];
  const names = asked.map(({ server }) => server.container.name).join(", ");
  const [lower] = asked.flatMap(({ server: { key, container }, demand }) => {
    const { name } = container;
    const room = shareRoom(machine, name);
    if (room === undefined || !takesItsShare(demand)) return [];
    // No more than the machine has free now, and no more than its plan leaves.
    const free = shareWithin(freeGiB - wanted + demand.utilization * totalGiB, totalGiB);
    const most = Math.min(free, room.byAggregate);
    const { value: share } = adviseShare({ ...room, byAggregate: most }, demand.utilization);
    return share > 0 ? [{ key, name, share }] : [];
  });
  const remedy =
    lower === undefined
      ? "Free memory: lowering one `gpuMemoryUtilization` is not enough."
      : `Free memory, or lower \`gpuMemoryUtilization\` of ${lower.name} to ${lower.share} or less.`;
  const fixed = Object.keys(machine.ledger.fixedKvCache ?? {}).length > 0;
  const message = `Not enough memory for ${names}: ${wanted.toFixed(2)} GiB is needed (utilization x ${totalGiB.toFixed(2)} GiB${fixed ? ", or what `kvCacheMemoryBytes` takes" : ""}), MemAvailable is ${availableGiB.toFixed(2)} GiB${held > 0 ? ` and our running servers hold ${held.toFixed(2)} GiB` : ""}. ${remedy} Nothing was touched.`;
  const setting = lower && `inferenceServers.${lower.key}.gpuMemoryUtilization`;
  return [refused(message, setting, lower?.share)];
}

function portFindings(
  machine: MachinePlan,
  { listeners, docker }: MachineFacts,
): PreflightFinding[] {
  const up = docker.reachable ? docker.containers : [];
  const ours = new Set(up.flatMap(({ ports }) => ports.map(({ host }) => host)));
  const { containers, inferenceServers, services } = machine;
  const blocks = new Map([
    ...inferenceServers.map(
      ({ key, container }) => [container.name, `inferenceServers.${key}`] as const,
    ),
    ...services.flatMap(({ key, own, container }) =>
      own && container !== null ? [[container, key] as const] : [],
    ),
  ]);
  const published = containers.flatMap(({ name, ports }) => {
    const block = blocks.get(name);
    if (block === undefined) return [];
    return ports.flatMap(({ host }) =>
      ours.has(host) ? [] : [{ name, port: host, setting: `${block}.port` }],
    );
  });
  // What Docker doesn't publish is a container's own as long as it is up.
  const unpublished = FEATURES.flatMap((each) => each.preflight.ports(machine)).filter(
    ({ name }) => !up.some((each) => each.name === name),
  );
  return [...published, ...unpublished]
    .filter(({ port }) => listeners.some((each) => each.port === port))
    .map(({ name, port, setting }) =>
      takenPort(name, port, setting?.split(".").at(-1) ?? "masterPort", setting),
    );
}
