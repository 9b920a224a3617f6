import type { BridgePlan } from "../../components/bridge/plannedBridge";
import { readServerArguments } from "../../components/inference-server/argv/serverArguments";
import type { InferenceServerPlan } from "../../components/inference-server/plannedServer";
import type { MachinePlan } from "../../components/plan/types";
import type { PlannedContainer } from "../../components/planned/container";
import { isHere } from "../../components/planned/reach";
import { PLACEHOLDER_KEY } from "../../components/planned/upstream";
import type { HostSimpleServerPlan } from "../../components/simple-server/plannedSimpleServer";
import { Api } from "./api";
import { MESSAGES_VERSION } from "./claudeCodeBody";
import { type HarnessTarget, harnessTargets, type ProviderTarget } from "./harnessTargets";
import type { Host } from "./host";
import { type ProcessStart, processStart } from "./processStart";
import { originFromHere } from "./reach";

/** What every target has. */
export interface Common {
  /** As results name it: a container's name, or words such as `instance A`. */
  readonly name: string;
  readonly machine: MachinePlan;
  readonly host: Host;
  /** Why nothing here can be asked from where this program runs. */
  readonly unreachable?: string;
  /** NAMES of the variables with keys that requests carry, beyond those of the machine's secret files. */
  readonly keyVariables?: readonly string[];
}

/** An inference server of ours. */
export interface ServerTarget extends Common {
  readonly kind: "inference-server";
  readonly api: Api;
  readonly server: InferenceServerPlan;
  /** Names that it is declared to answer to, behind the canonical one. */
  readonly aliases: readonly string[];
  /** Declared window in tokens. */
  readonly maxModelLen: number;
  /** A setting of this server as it stands in the stack file. */
  readonly setting: (key: string) => string;
  /** Which way the messages-style client goes by the stack file; `undefined` where it has none. */
  readonly messagesVia: "bridge" | "native" | undefined;
  /** `true` when it was named by its URL, so that nothing else of the plan is in sight. */
  readonly alone: boolean;
}

/** The protocol bridge. */
export interface BridgeTarget extends Common {
  readonly kind: "bridge";
  readonly api: Api;
  readonly container: PlannedContainer;
  /** Name to ask for. */
  readonly model: string;
  /** Every name that it is declared to list. */
  readonly names: readonly string[];
  /** Variable that holds its key; `undefined` where the key is a placeholder. */
  readonly keyVariable: string | undefined;
  /** Names that the messages-style client pins its tiers to. */
  readonly tiers: readonly string[];
  readonly server: ServerTarget | undefined;
}

export interface ChatUiTarget extends Common {
  readonly kind: "chat-ui";
  readonly api: Api;
  readonly container: PlannedContainer;
}

/** Ollama on the host. */
export interface OllamaTarget extends Common {
  readonly kind: "simple-server";
  readonly api: Api;
  readonly plan: HostSimpleServerPlan;
}

/** Instance A, which is only ever looked at. */
export interface InstanceATarget extends Common {
  readonly kind: "instance-a";
  readonly api: Api;
  readonly port: number;
  /** Its process before the first probe; `undefined` where nothing tells of it. */
  readonly before: ProcessStart | undefined;
}

/** The machine itself: its files, containers and memory. */
export interface MachineTarget extends Common {
  readonly kind: "machine";
}

export type Target =
  | ServerTarget
  | BridgeTarget
  | ChatUiTarget
  | OllamaTarget
  | HarnessTarget
  | ProviderTarget
  | InstanceATarget
  | MachineTarget;

/** What clients send to a server that ignores the key's value: one goes with each request, as theirs do. */
const SERVER_HEADERS = { ...MESSAGES_VERSION, "x-api-key": PLACEHOLDER_KEY };

export interface TargetOptions {
  /** Seconds that one answer of a model may take. */
  readonly timeoutSeconds: number;
  /** Probe an inference server here instead of where the plan has it. */
  readonly baseUrl?: string;
}

/** Everything of one machine that can be probed, in the order in which it is probed. */
export async function targetsOf(machine: MachinePlan, host: Host, options: TargetOptions): Promise<Target[]> {
  const local = isHere(machine);
  const elsewhere = local
    ? {}
    : { unreachable: `it is read on the machine itself: run this command on ${machine.name}` };
  const common = { machine, host };
  const servers = serversOf(machine, host, options);
  return [
    ...(await instanceA(machine, host, options)),
    ...servers,
    ...bridges(machine, host, options, servers),
    ...chatUis(machine, host, options),
    ...simpleServers(machine, host, options),
    ...(await harnessTargets(machine, host, options.timeoutSeconds, elsewhere.unreachable)),
    { kind: "machine", name: machine.name, ...common, ...elsewhere },
  ];
}

function serversOf(machine: MachinePlan, host: Host, options: TargetOptions): ServerTarget[] {
  const via = messagesClient(machine)?.via;
  const all = machine.inferenceServers.map((server): ServerTarget => {
    const { options: flags } = readServerArguments(server.container.command);
    const words = (name: string) => (flags.get(name) ?? []).filter((word) => typeof word === "string");
    const place = whereIs(machine, server.container, options, SERVER_HEADERS);
    return {
      kind: "inference-server",
      name: server.container.name,
      machine,
      host,
      ...place,
      server,
      aliases: words("served-model-name").filter((name) => name !== server.servedModelName),
      maxModelLen: Number(words("max-model-len")[0]),
      setting: (key) => `machines.${machine.name}.inferenceServers.${server.key}.${key}`,
      messagesVia: via,
      alone: false,
    };
  });
  if (options.baseUrl === undefined) return all;
  const port = new URL(options.baseUrl).port;
  const meant = all.find((each) => String(each.server.container.ports[0]?.host) === port) ?? all[0];
  if (meant === undefined) return [];
  const { unreachable: _, ...rest } = meant;
  return [{ ...rest, api: new Api(options.baseUrl, options.timeoutSeconds, SERVER_HEADERS), alone: true }];
}

/** The messages-style client of this machine, where one is declared. */
function messagesClient(machine: MachinePlan) {
  return machine.clients.find((each) => each.client === "claude-code");
}

function bridges(
  machine: MachinePlan,
  host: Host,
  options: TargetOptions,
  servers: readonly ServerTarget[],
): BridgeTarget[] {
  const { bridge } = machine;
  if (bridge === null) return [];
  const client = messagesClient(machine);
  const tiers = client?.via === "bridge" ? Object.values(client.tiers).filter((name) => name !== "") : [];
  const key = bridgeKey(bridge, host);
  const headers = {
    ...MESSAGES_VERSION,
    ...("value" in key ? { authorization: `Bearer ${key.value}` } : {}),
  };
  return [
    {
      kind: "bridge",
      name: bridge.container.name,
      machine,
      host,
      ...whereIs(machine, bridge.container, options, headers),
      ...("missing" in key ? { unreachable: key.missing } : {}),
      container: bridge.container,
      model: bridge.names[0] ?? "",
      names: bridge.names.filter((name) => !name.endsWith("*")),
      keyVariable: bridge.key?.variable,
      tiers: [...new Set(tiers)],
      server: servers.find(({ server }) => server.key === bridge.servers[0]),
    },
  ];
}

/** The key that the bridge asks for: a placeholder, or what stands in the variable that the stack file names. */
export function bridgeKey(
  { key }: BridgePlan,
  host: Host,
): { readonly value: string } | { readonly missing: string } {
  if (key === null) return { value: PLACEHOLDER_KEY };
  const value = host.env[key.variable] ?? "";
  return value === ""
    ? { missing: `its key is in the variable ${key.variable}, which is not set here` }
    : { value };
}

function chatUis(machine: MachinePlan, host: Host, options: TargetOptions): ChatUiTarget[] {
  if (machine.chatUi === null) return [];
  const { container } = machine.chatUi;
  const place = whereIs(machine, container, options);
  return [{ kind: "chat-ui", name: container.name, machine, host, ...place, container }];
}

function simpleServers(machine: MachinePlan, host: Host, options: TargetOptions): OllamaTarget[] {
  const { simpleServer } = machine;
  if (simpleServer.mode !== "host") return [];
  const origin = originFromHere(machine, { address: simpleServer.listen, port: simpleServer.port });
  return [
    {
      kind: "simple-server",
      name: "simple server (Ollama)",
      machine,
      host,
      ...("url" in origin
        ? { api: new Api(origin.url, options.timeoutSeconds) }
        : { api: new Api("", options.timeoutSeconds), unreachable: origin.unreachable }),
      plan: simpleServer,
    },
  ];
}

/** Seconds for the look at instance A before a run. */
const LOOK_SECONDS = 2;

async function instanceA(
  machine: MachinePlan,
  host: Host,
  { timeoutSeconds }: TargetOptions,
): Promise<InstanceATarget[]> {
  if (machine.hostInstance === "none") return [];
  const { port } = machine.hostInstance;
  const local = isHere(machine);
  const url = `http://127.0.0.1:${port}`;
  // Looked at even when nobody asked for its probe: it is what the others must not have touched. So it is kept short.
  const look = new Api(url, Math.min(LOOK_SECONDS, timeoutSeconds));
  return [
    {
      kind: "instance-a",
      name: "instance A",
      machine,
      host,
      api: new Api(url, timeoutSeconds),
      ...(local
        ? {}
        : { unreachable: `it is looked at on the machine itself: run this command on ${machine.name}` }),
      port,
      before: local ? await processStart(host, look, port) : undefined,
    },
  ];
}

function whereIs(
  machine: MachinePlan,
  container: PlannedContainer,
  { timeoutSeconds }: TargetOptions,
  headers: Readonly<Record<string, string>> = {},
): { readonly api: Api; readonly unreachable?: string } {
  const port = container.ports[0];
  const origin =
    port === undefined
      ? { unreachable: "the plan publishes no port of it" }
      : originFromHere(machine, { address: port.ip, port: port.host });
  return "url" in origin
    ? { api: new Api(origin.url, timeoutSeconds, headers) }
    : { api: new Api("", timeoutSeconds), unreachable: origin.unreachable };
}
