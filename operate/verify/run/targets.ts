import type { MachinePlan } from "../../../components/plan/types";
import { keyFault } from "../../../components/planned/networkKey";
import { isHere, type Listening, PLACEHOLDER_KEY } from "../../../components/planned/reach";
import { Api } from "../api";
import type { Host } from "../host";
import { processStart } from "../metrics";
import { originFromHere } from "../reach";
import { MESSAGES_VERSION } from "../surfaces/messages";
import type {
  BridgeTarget,
  ChatUiTarget,
  InstanceATarget,
  OllamaTarget,
  ServerTarget,
  Target,
} from "../target";
import { harnessTargets } from "./harnessTargets";

/** Headers of clients whose server ignores the key's value: one goes with each request. */
const SERVER_HEADERS = { ...MESSAGES_VERSION, "x-api-key": PLACEHOLDER_KEY };

export interface TargetOptions {
  readonly timeoutSeconds: number;
  /** Probe an inference server here instead of at its planned address. */
  readonly baseUrl?: string;
}

/** Everything of one machine that can be probed. */
export async function targetsOf(machine: MachinePlan, host: Host, options: TargetOptions): Promise<Target[]> {
  const unreachable = isHere(machine)
    ? undefined
    : `it is read on the machine itself: run this command on ${machine.name}`;
  const here = { machine, host, unreachable };
  const servers = serversOf(machine, host, options);
  return [
    ...(await instanceA(here, options)),
    ...servers,
    ...bridges(machine, host, options, servers),
    ...chatUis(machine, host, options),
    ...simpleServers(machine, host, options),
    ...(await harnessTargets(here, options.timeoutSeconds)),
    { kind: "machine", name: machine.name, ...here },
  ];
}

function serversOf(machine: MachinePlan, host: Host, options: TargetOptions): ServerTarget[] {
  const all = machine.inferenceServers.map((server): ServerTarget => {
    const { names, maxModelLen } = server.serve;
    return {
      kind: "inference-server",
      name: server.container.name,
      machine,
      host,
      ...place(machine, server.reach, options, SERVER_HEADERS),
      server,
      aliases: names.filter((name) => name !== server.servedModelName),
      maxModelLen,
      setting: (key) => `machines.${machine.name}.inferenceServers.${server.key}.${key}`,
      messagesVia: messagesClient(machine)?.via,
      alone: false,
    };
  });
  if (options.baseUrl === undefined) return all;
  const { port } = new URL(options.baseUrl);
  const meant = all.find((each) => String(each.server.reach.port) === port) ?? all[0];
  if (meant === undefined) return [];
  const api = new Api(options.baseUrl, options.timeoutSeconds, SERVER_HEADERS);
  return [{ ...meant, api, unreachable: undefined, alone: true }];
}

function messagesClient(machine: MachinePlan) {
  return machine.clients.find((each) => each.surface === "messages");
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
  const keyVariable = bridge.key?.variable;
  const key = keyVariable === undefined ? PLACEHOLDER_KEY : (host.env[keyVariable] ?? "");
  // A bad key is a fault by itself (probe bridge-key), and travels nowhere.
  const bad = keyVariable !== undefined && keyFault(key) !== undefined;
  const headers = bad ? MESSAGES_VERSION : { ...MESSAGES_VERSION, authorization: `Bearer ${key}` };
  const { api, unreachable } = place(machine, bridge, options, headers);
  return [
    {
      kind: "bridge",
      name: bridge.container.name,
      machine,
      host,
      api,
      unreachable:
        key === "" ? `its key is in the variable ${keyVariable}, which is not set here` : unreachable,
      model: bridge.names[0] ?? "",
      names: bridge.names.filter((name) => !name.endsWith("*")),
      keyVariable,
      tiers: [...new Set(tiers)],
      server: servers.find(({ server }) => server.key === bridge.servers[0]),
    },
  ];
}

function chatUis(machine: MachinePlan, host: Host, options: TargetOptions): ChatUiTarget[] {
  if (machine.chatUi === null) return [];
  const { container } = machine.chatUi;
  const where = place(machine, machine.chatUi, options);
  return [{ kind: "chat-ui", name: container.name, machine, host, ...where, container }];
}

function simpleServers(machine: MachinePlan, host: Host, options: TargetOptions): OllamaTarget[] {
  const plan = machine.simpleServer;
  if (plan.mode !== "host") return [];
  const where = place(machine, { address: plan.listen, port: plan.port }, options);
  return [{ kind: "simple-server", name: "simple server (Ollama)", machine, host, ...where, plan }];
}

/** Seconds for the look at instance A before a run. */
const LOOK_SECONDS = 2;

async function instanceA(
  here: Pick<InstanceATarget, "machine" | "host" | "unreachable">,
  { timeoutSeconds }: TargetOptions,
): Promise<InstanceATarget[]> {
  const { hostInstance } = here.machine;
  if (hostInstance === "none") return [];
  const { port } = hostInstance;
  const url = `http://127.0.0.1:${port}`;
  // Looked at even if its probe was not asked for, since no probe may touch it. So the look is short.
  const look = new Api(url, Math.min(LOOK_SECONDS, timeoutSeconds));
  const before = here.unreachable === undefined ? await processStart(here.host, look, port) : undefined;
  return [
    { kind: "instance-a", name: "instance A", ...here, api: new Api(url, timeoutSeconds), port, before },
  ];
}

function place(
  machine: MachinePlan,
  listening: Listening,
  { timeoutSeconds }: TargetOptions,
  headers: Readonly<Record<string, string>> = {},
): { readonly api: Api; readonly unreachable: string | undefined } {
  const origin = originFromHere(machine, listening);
  return "url" in origin
    ? { api: new Api(origin.url, timeoutSeconds, headers), unreachable: undefined }
    : { api: new Api("", timeoutSeconds), unreachable: origin.unreachable };
}
