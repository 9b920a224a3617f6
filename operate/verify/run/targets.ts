import type { MachinePlan } from "../../../components/plan/types";
import { keyFault } from "../../../components/planned/networkKey";
import { isHere, type Listening, PLACEHOLDER_KEY } from "../../../components/planned/reach";
import { UnreadableInput } from "../../../faults/fault";
import { parseJson } from "../../../faults/jsonDocument";
import { configureAnalytics } from "../../../harness/analytics/configuration";
import { checkProfile } from "../../../harness/providers/check";
import { askedProviders } from "../../../harness/providers/probe";
import { parseProfile } from "../../../harness/providers/profile";
import { Api } from "../api";
import type { Host } from "../host";
import { processStart } from "../metrics";
import { originFromHere } from "../reach";
import { MESSAGES_VERSION } from "../surfaces/messages";
import type {
  AsWritten,
  BridgeTarget,
  ChatUiTarget,
  HarnessTarget,
  InstanceATarget,
  OllamaTarget,
  ProviderTarget,
  ServerTarget,
  Target,
} from "../target";

/** Headers of clients whose server ignores the key's value: one goes with each request. */
const SERVER_HEADERS = { ...MESSAGES_VERSION, "x-api-key": PLACEHOLDER_KEY };

interface TargetOptions {
  readonly timeoutSeconds: number;
  /** Probe an inference server here instead of at its planned address. */
  readonly baseUrl?: string;
}

/** Everything of one machine that can be probed. */
export async function targetsOf(machine: MachinePlan, host: Host, options: TargetOptions): Promise<Target[]> {
  const began = Date.now();
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
    { kind: "machine", name: machine.name, began, ...here },
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

/** The harness's files and every provider in them; nothing if the stack file has no `harness`. */
async function harnessTargets(
  here: Pick<HarnessTarget, "machine" | "host" | "unreachable">,
  timeoutSeconds: number,
): Promise<(HarnessTarget | ProviderTarget)[]> {
  const { machine, host, unreachable } = here;
  const { harness } = machine;
  if (harness === null) return [];
  const read = <Content>(path: string, parse: (text: string) => Content) =>
    unreachable === undefined ? asWritten(host, path, parse) : { unreadable: unreachable };
  const profile = await read(harness.providers, (text) => {
    const document = parseProfile(harness.providers, text);
    const verdict = checkProfile(document);
    return { verdict, providers: askedProviders(document, verdict) };
  });
  const analytics = await read(harness.analytics, (text) =>
    configureAnalytics({
      prefix: harness.prefix,
      document: parseJson(harness.analytics, text),
      dotenv: undefined,
      environment: {},
      settings: [],
    }),
  );
  const judgeKeyVariable = `${harness.prefix}SA_JUDGE_API_KEY`;
  const name = "the harness's files";
  const keyVariables = [judgeKeyVariable];
  return [
    { ...here, kind: "harness", name, timeoutSeconds, profile, analytics, judgeKeyVariable, keyVariables },
    ...providersIn(profile, { ...here, timeoutSeconds }),
  ];
}

function providersIn(
  profile: HarnessTarget["profile"],
  common: Pick<ProviderTarget, "machine" | "host" | "timeoutSeconds" | "unreachable">,
): ProviderTarget[] {
  const kind = "harness-provider";
  if ("content" in profile && profile.content.providers.length > 0) {
    return profile.content.providers.map((asked) => {
      const key = asked.provider?.api_key_env;
      const keyVariables = key === undefined ? [] : [key];
      return { ...common, kind, name: `provider ${asked.name}`, asked, keyVariables };
    });
  }
  const unreachable =
    common.unreachable ?? "the profile on the machine names no provider (see harness-profile)";
  return [{ ...common, kind, name: "the harness's providers", asked: { name: "" }, unreachable }];
}

async function asWritten<Content>(
  host: Host,
  path: string,
  parse: (text: string) => Content,
): Promise<AsWritten<Content>> {
  const disk = await host.file(path);
  if (disk === undefined) return { unreadable: `${path} is missing` };
  if (disk.text === undefined) return { unreadable: `${path} can't be read by this user` };
  try {
    return { content: parse(disk.text) };
  } catch (error) {
    if (!(error instanceof UnreadableInput)) throw error;
    return { unreadable: error.message };
  }
}
