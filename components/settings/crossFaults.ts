import { dotted, type Fault } from "@local-serving/base/faults/fault";
import { listOf } from "@local-serving/base/faults/quoting";
import type { SourceDocument } from "@local-serving/base/faults/yamlDocument";
import { BYTES_PER_GIB } from "@local-serving/base/units/memory";
import { canonicalEngine, hostOnNetwork, isLoopback } from "@local-serving/machines/address";
import { totalOfAnother, whyNoServer } from "@local-serving/machines/devices/devices";
import { FEATURES } from "../features";
import { isPooling } from "../planned";
import { onOtherMachine } from "../services/bridge";
import { otherKind } from "../services/kind";
import { harnessFaults } from "./harnessFaults";
import type { MachineSettings } from "./machine";
import { onRequestFaults } from "./onRequestFaults";
import { ownModelFaults } from "./ownModelFaults";
import { type MachineFault, referenceFaults } from "./referenceFaults";
import { repeatedFlags, repeatedVariable } from "./repeatedSettings";
import type { StackSettings } from "./stackSettings";

/**
 * Finds faults that show only in several values together: what can't work, not what is merely
 * unwise.
 */
export function crossFaults(settings: StackSettings, document?: SourceDocument): Fault[] {
  const faults: Fault[] = [];
  const fault = (path: PropertyKey[], code: string, message: string) =>
    faults.push({
      path: dotted(path),
      code,
      message,
      severity: "error",
      ...document?.locate(path),
    });
  const engines = new Map<string, string>();
  for (const [machineName, machine] of Object.entries(settings.machines)) {
    const engine = canonicalEngine(machine);
    const first = engines.get(engine);
    if (first === undefined) engines.set(engine, machineName);
    else {
      const message = `${machineName} and ${first} are on one Docker engine (${machine.dockerHost}), so they are one machine with one memory: put their servers below one of them, or give each its own \`dockerHost\`.`;
      fault(["machines", machineName, "dockerHost"], "repeated_engine", message);
    }
    for (const { path, code, message } of [
      ...deviceFaults(machine),
      ...referenceFaults(machine),
      ...poolingFaults(machine),
      ...ownModelFaults(machine),
      ...FEATURES.flatMap((each) => each.faults(machineName, settings.machines)),
      ...onRequestFaults(machine),
    ])
      fault(["machines", machineName, ...path], code, message);
    for (const { path, code, message } of bridgedElsewhereFaults(machineName, settings.machines))
      fault(["machines", machineName, "bridge", "servers", ...path], code, message);
    for (const { path, message } of harnessFaults(machine))
      fault(["machines", machineName, ...path], "impossible_value", message);
    for (const { path, code, message } of serversFaults(machine))
      fault(["machines", machineName, "inferenceServers", ...path], code, message);
  }
  return faults;
}

/** What of one server's settings contradicts itself. */
function serversFaults({ inferenceServers, totalGiB }: MachineSettings): MachineFault[] {
  const faults: MachineFault[] = [];
  const fault = (path: PropertyKey[], code: string, message: string) =>
    faults.push({ path, code, message });
  for (const [name, server] of Object.entries(inferenceServers)) {
    for (const { index, message } of repeatedFlags(server.extraArgs))
      fault([name, "extraArgs", index], "repeated_flag", message);
    for (const variable of Object.keys(server.environment)) {
      const message = repeatedVariable(variable);
      if (message !== undefined)
        fault([name, "environment", variable], "repeated_variable", message);
    }
    const doubled = server.aliases?.indexOf(server.servedModelName) ?? -1;
    if (doubled >= 0)
      fault(
        [name, "aliases", doubled],
        "impossible_value",
        "This is already the served model name: delete it from the aliases.",
      );
    const budget = server.gpuMemoryUtilization * totalGiB * BYTES_PER_GIB;
    if (server.kvCacheMemoryBytes !== undefined && server.kvCacheMemoryBytes >= budget)
      fault(
        [name, "kvCacheMemoryBytes"],
        "impossible_value",
        `The KV cache alone would take the whole budget of ${(budget / BYTES_PER_GIB).toFixed(2)} GiB (utilization ${server.gpuMemoryUtilization} of ${totalGiB} GiB).`,
      );
  }
  return faults;
}

/** What the declared device can't have. */
function deviceFaults({ device, totalGiB, inferenceServers }: MachineSettings): MachineFault[] {
  const total = totalOfAnother(device, totalGiB);
  const none = Object.keys(inferenceServers).length === 0 ? undefined : whyNoServer(device);
  const fault = (path: string, message: string | undefined): MachineFault[] =>
    message === undefined ? [] : [{ path: [path], code: "impossible_value", message }];
  return [...fault("totalGiB", total), ...fault("inferenceServers", none)];
}

/**
 * Faults around models that write no text (`model.kind: embedding` or `rerank`), and in the harness
 * that would use them.
 */
function poolingFaults(machine: MachineSettings): MachineFault[] {
  const faults: MachineFault[] = [];
  const fault = (path: PropertyKey[], message: string) =>
    faults.push({ path, code: "impossible_value", message });
  const servers = Object.entries(machine.inferenceServers);

  for (const [key, server] of servers) {
    const { kind, thinking } = server.model;
    if (!isPooling(kind)) continue;
    const given: readonly (readonly [path: string[], isGiven: boolean])[] = [
      [["model", "thinking"], thinking],
      [["tools", "parser"], server.tools.parser !== "auto"],
      [["reasoningParser"], server.reasoningParser !== "auto"],
      [["speculative"], server.speculative !== undefined],
    ];
    for (const [path, isGiven] of given)
      if (isGiven)
        fault(
          ["inferenceServers", key, ...path],
          `A model of \`kind: ${kind}\` writes no text: delete this line, or change \`model.kind\`.`,
        );
  }

  const declared = servers.map(([key, { model }]) => ({ key, kind: model.kind }));
  const noEmbedder = otherKind(machine.harness?.embeddingServer, "embedding", declared);
  if (noEmbedder !== undefined) fault(["harness", "embeddingServer"], noEmbedder);
  if (
    machine.harness?.embeddingServer !== undefined &&
    machine.harness.embeddingModel !== undefined
  )
    fault(
      ["harness", "embeddingModel"],
      "`embeddingServer` embeds the sessions: delete this line, or delete `embeddingServer` to let Ollama embed them.",
    );
  return faults;
}

/**
 * Faults in what a bridge says of servers of other machines; the path starts below
 * `bridge.servers`.
 */
function bridgedElsewhereFaults(own: string, machines: StackSettings["machines"]): MachineFault[] {
  const names = machines[own]?.bridge?.servers ?? [];
  return names.flatMap((name, index) => {
    if (onOtherMachine(name) === undefined) return [];
    const found = noWayTo(name, own, machines) ?? otherWindow(name, own, machines);
    return found === undefined ? [] : [{ path: [index], ...found }];
  });
}

type Found = Omit<MachineFault, "path">;
const impossible = (message: string): Found => ({ code: "impossible_value", message });

/** Why a machine's bridge can't forward to this server of another machine. */
function noWayTo(
  name: string,
  own: string,
  machines: StackSettings["machines"],
): Found | undefined {
  const { on = own, key = name } = onOtherMachine(name) ?? {};
  if (on === own) return impossible(`${own} is this machine: write \`${key}\`.`);
  const machine = machines[on];
  const server = machine?.inferenceServers[key];
  if (machine === undefined || server === undefined)
    return {
      code: "unknown_reference",
      message: `No server \`${key}\` on a machine \`${on}\`. On other machines: ${serversBeside(own, machines)}.`,
    };
  if (server.start === "onRequest" && machine.onDemand !== undefined)
    return impossible(
      `llama-swap on ${on} starts \`${name}\`, and no other machine can reach it: put the server behind a \`bridge\` on ${on}, and point clients at that bridge.`,
    );
  if (server.nodes !== undefined)
    return machines[own]?.link === undefined
      ? impossible(
          `\`${name}\` is only reachable over its private link, and ${own} is not on that link: declare the bridge on ${on}.`,
        )
      : undefined;
  if (isLoopback(server.listen))
    return impossible(
      `\`${name}\` listens on ${server.listen}, which no other machine can reach: write \`machines.${on}.inferenceServers.${key}.listen\` with the address by which ${own} knows ${on}. vLLM asks for no key, so let a firewall admit ${own} alone.`,
    );
  if (hostOnNetwork(machine, machine.clients.host) !== undefined) return undefined;
  return {
    code: "missing_key",
    message: `${own} needs a name or address of ${on} to reach it: write one as \`machines.${on}.clients.host\`.`,
  };
}

function serversBeside(own: string, machines: StackSettings["machines"]): string {
  const known = Object.entries(machines)
    .filter(([name]) => name !== own)
    .flatMap(([name, { inferenceServers }]) =>
      Object.keys(inferenceServers).map((key) => `${name}.${key}`),
    );
  return known.length === 0 ? "none is declared" : listOf(known);
}

/** Another server behind the same bridge that has the same name, with another window. */
function otherWindow(
  name: string,
  own: string,
  machines: StackSettings["machines"],
): Found | undefined {
  const serverOf = (written: string) => {
    const { on, key } = onOtherMachine(written) ?? { on: own, key: written };
    return machines[on]?.inferenceServers[key];
  };
  const server = serverOf(name);
  const twin = machines[own]?.bridge?.servers?.find(
    (each) => serverOf(each)?.servedModelName === server?.servedModelName && each !== name,
  );
  const window = twin === undefined ? undefined : serverOf(twin)?.maxModelLen;
  if (window === undefined || window === server?.maxModelLen) return undefined;
  return impossible(
    `\`${name}\` and \`${twin}\` both serve \`${server?.servedModelName}\`, but with context windows of ${server?.maxModelLen} and ${window} tokens: a session could not continue on the other server. Give both the same \`maxModelLen\`.`,
  );
}
