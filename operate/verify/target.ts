import type { MachinePlan } from "../../components/plan/types";
import { keyFault } from "../../components/planned/networkKey";
import { isHere, isLoopback, type Listening, PLACEHOLDER_KEY } from "../../components/planned/reach";
import { UnreadableInput } from "../../faults/fault";
import { parseJson } from "../../faults/jsonDocument";
import { configureAnalytics } from "../../harness/analytics/configuration";
import { checkProfile } from "../../harness/providers/check";
import { type AskedProvider, askedProviders } from "../../harness/providers/probe";
import { parseProfile } from "../../harness/providers/profile";
import type { Host } from "../host/host";
import { ranksOf } from "../stack/ranksOf";
import { Api, MESSAGES_VERSION } from "./api";
import { processStart } from "./metrics";
import type { Probe } from "./probe";
import { originFromHere, type Tunnel } from "./reach";

/** What every target has. */
interface Common {
  /** As results name it: a container's name, or words such as `instance A`. */
  readonly name: string;
  readonly machine: MachinePlan;
  readonly host: Host;
  /** Why it can't be asked from here. */
  readonly unreachable?: string | undefined;
  /** NAMES of the variables with keys that its requests carry, beyond those of the machine's secret files. */
  readonly keyVariables?: readonly string[];
}

/** Something on a machine that probes ask. */
export type Target = Common & Awaited<ReturnType<typeof targetsOf>>[number];

type TargetOf<Kind extends Target["kind"]> = Extract<Target, { kind: Kind }>;

/** The probes of one kind of target. */
export type ProbesOf<Kind extends Target["kind"]> = readonly Probe<TargetOf<Kind>>[];

type Server = ReturnType<typeof inferenceServers>[number];
export type ServerTarget = Common & Server;
export type BridgeTarget = TargetOf<"bridge">;
export type ChatUiTarget = TargetOf<"chat-ui">;
export type HarnessTarget = TargetOf<"harness">;
export type ProviderTarget = TargetOf<"harness-provider">;
export type MachineTarget = TargetOf<"machine">;

/** One rank of a server over several machines, and what is read on its machine. */
export type RankTarget = TargetOf<"ranks">["head"];

/** Headers of clients whose server ignores the key's value: one goes with each request. */
const SERVER_HEADERS = { ...MESSAGES_VERSION, "x-api-key": PLACEHOLDER_KEY };

export interface TargetOptions {
  readonly timeoutSeconds: number;
  /** Probe an inference server here instead of at its planned address, and nothing else unless it is named. */
  readonly baseUrl?: string;
  /** The machine's files, processes and Docker, by the machine's Docker address. */
  readonly host: (dockerHost: string) => Host;
  /** All machines of the plan: a server may have ranks on others. */
  readonly machines?: readonly MachinePlan[];
}

type Here = Pick<Common, "machine" | "host" | "unreachable">;

/** Something on the machine that is asked by HTTP, or why it can't be asked from here. */
type At = (listening: Listening, headers?: Readonly<Record<string, string>>) => Here & { readonly api: Api };

/** Everything of one machine that can be probed. */
export async function targetsOf(
  machine: MachinePlan,
  host: Host,
  options: TargetOptions,
  tunnel?: Pick<Tunnel, "ports">,
) {
  /** When the run began, in milliseconds: of a container that started later, the probes before met two. */
  const began = Date.now();
  const { timeoutSeconds } = options;
  const onItself = `it is read on the machine itself: run this command on ${machine.name}`;
  const here: Here = {
    machine,
    host,
    unreachable: isHere(machine) || tunnel !== undefined ? undefined : onItself,
  };
  const at: At = (listening, headers) => {
    const { url = "", unreachable } = originFromHere(machine, listening, tunnel);
    return { machine, host, api: new Api(url, timeoutSeconds, headers), unreachable };
  };
  const servers = inferenceServers(machine, at, options);
  return [
    ...(await instanceA(here, options, tunnel)),
    ...serversOverMachines(machine, at, options),
    ...servers,
    ...bridges(machine, host, at, servers),
    ...chatUis(machine, at),
    ...simpleServers(machine, at),
    ...(await harnessTargets(here, timeoutSeconds, tunnel)),
    { kind: "machine" as const, name: machine.name, began, ...here },
  ];
}

function inferenceServers(machine: MachinePlan, at: At, { baseUrl, timeoutSeconds }: TargetOptions) {
  const all = machine.inferenceServers.map((server) => {
    const { names, maxModelLen } = server.serve;
    return {
      kind: "inference-server" as const,
      name: server.container.name,
      ...at(server.reach, SERVER_HEADERS),
      server,
      /** Its declared names behind the canonical one. */
      aliases: names.filter((name) => name !== server.servedModelName),
      maxModelLen,
      /** A setting of this server, by its full name in the stack file. */
      setting: (key: string) => `machines.${machine.name}.inferenceServers.${server.key}.${key}`,
      /** The way of the messages-style client in the stack file; `undefined` without such a client. */
      messagesVia: messagesClient(machine)?.via,
      /** Whether `--base-url` named it: the rest of the plan may be elsewhere. */
      alone: baseUrl !== undefined,
    };
  });
  if (baseUrl === undefined) return all;
  const { port } = new URL(baseUrl);
  const meant = all.find((each) => String(each.server.reach.port) === port) ?? all[0];
  if (meant === undefined) return [];
  return [{ ...meant, api: new Api(baseUrl, timeoutSeconds, SERVER_HEADERS), unreachable: undefined }];
}

function serversOverMachines(machine: MachinePlan, at: At, { machines = [machine], host }: TargetOptions) {
  return machine.inferenceServers.flatMap((server) => {
    const ranks = ranksOf({ machine, server }, machines);
    const [head, ...workers] = ranks.map((each) => ({ ...each, host: host(each.machine.dockerHost) }));
    const name = server.container.name;
    return head === undefined || workers.length === 0
      ? []
      : [{ kind: "ranks" as const, name, ...at(server.reach), head, workers }];
  });
}

const messagesClient = ({ clients }: MachinePlan) => clients.find((each) => each.surface === "messages");

function bridges(machine: MachinePlan, { env }: Host, at: At, servers: readonly Server[]) {
  const { bridge } = machine;
  if (bridge === null) return [];
  const client = messagesClient(machine);
  const tiers = client?.via === "bridge" ? Object.values(client.tiers).filter((name) => name !== "") : [];
  /** Variable that holds its key; `undefined` if the key is a placeholder. */
  const keyVariable = bridge.key?.variable;
  const key = keyVariable === undefined ? PLACEHOLDER_KEY : (env[keyVariable] ?? "");
  // A bad key is a fault by itself (probe bridge-key), and travels nowhere.
  const bad = keyVariable !== undefined && keyFault(key) !== undefined;
  const place = at(bridge, bad ? MESSAGES_VERSION : { ...MESSAGES_VERSION, authorization: `Bearer ${key}` });
  const keyless = key === "" ? `its key is in the variable ${keyVariable}, which is not set here` : undefined;
  return [
    {
      kind: "bridge" as const,
      name: bridge.container.name,
      ...place,
      unreachable: keyless ?? place.unreachable,
      model: bridge.names[0] ?? "",
      /** Every name that it is declared to list. */
      names: bridge.names.filter((name) => !name.endsWith("*")),
      keyVariable,
      /** Names that the messages-style client pins its tiers to. */
      tiers: [...new Set(tiers)],
      server: servers.find(({ server }) => server.key === bridge.servers[0]),
    },
  ];
}

function chatUis({ chatUi }: MachinePlan, at: At) {
  if (chatUi === null) return [];
  const { container } = chatUi;
  return [{ kind: "chat-ui" as const, name: container.name, ...at(chatUi), container }];
}

function simpleServers({ simpleServer: plan }: MachinePlan, at: At) {
  if (plan.mode !== "host") return [];
  const place = at({ address: plan.listen, port: plan.port });
  return [{ kind: "simple-server" as const, name: "simple server (Ollama)", ...place, plan }];
}

/** Seconds for the look at instance A before a run. */
const LOOK_SECONDS = 2;

/** Instance A, which is never changed. */
async function instanceA(here: Here, { timeoutSeconds }: TargetOptions, tunnel?: Pick<Tunnel, "ports">) {
  const { hostInstance } = here.machine;
  if (hostInstance === "none") return [];
  const { port } = hostInstance;
  const url = `http://127.0.0.1:${tunnel?.ports.get(port) ?? port}`;
  // Looked at even if its probe was not asked for, since no probe may touch it. So the look is short.
  const look = new Api(url, Math.min(LOOK_SECONDS, timeoutSeconds));
  /** Its process before the first probe; `undefined` if nothing tells. */
  const before = here.unreachable === undefined ? await processStart(here.host, look, port) : undefined;
  const api = new Api(url, timeoutSeconds);
  return [{ kind: "instance-a" as const, name: "instance A", ...here, api, port, before }];
}

/** The harness's files and every provider in them; nothing if the stack file has no `harness`. */
async function harnessTargets(here: Here, timeoutSeconds: number, tunnel?: Pick<Tunnel, "ports">) {
  const { machine, host, unreachable } = here;
  const { harness } = machine;
  if (harness === null) return [];
  const read = <Content>(path: string, parse: (text: string) => Content) =>
    unreachable === undefined
      ? asWritten(host, path, (text) => parse(fromHere(text, machine, tunnel?.ports)))
      : { unreadable: unreachable };
  const profile = await read(harness.providers, (text) => {
    const document = parseProfile(harness.providers, text);
    const verdict = checkProfile(document);
    return { verdict, providers: askedProviders(document, verdict) };
  });
  /** The session-analytics file upon the defaults; the environment of this shell is not the harness's. */
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
  const common = { ...here, timeoutSeconds };
  const providers = "content" in profile ? profile.content.providers : [];
  const files = { kind: "harness" as const, name: "the harness's files", profile, analytics, judgeKeyVariable };
  return [
    { ...common, keyVariables: [judgeKeyVariable], ...files },
    ...(providers.length > 0 ? providers : [undefined]).map((asked) => ({ ...common, ...providerTarget(asked, here) })),
  ];
}

/** A text of the harness with the addresses of its own machine as this program reaches them. */
function fromHere(text: string, { reach }: MachinePlan, ports: Tunnel["ports"] = new Map()): string {
  return text.replace(/(?<![\w.-])(localhost|\d{1,3}(?:\.\d{1,3}){3}):(\d+)\b/g, (given, address, port) => {
    const here = ports.get(Number(port));
    const own = isLoopback(address) || reach.some((each) => each.address === address);
    return here !== undefined && own ? `127.0.0.1:${here}` : given;
  });
}

/** One provider of the profile, or why none can be asked. */
function providerTarget(asked: AskedProvider | undefined, { unreachable }: Here) {
  const none = "the profile on the machine names no provider (see harness-profile)";
  return {
    kind: "harness-provider" as const,
    name: asked === undefined ? "the harness's providers" : `provider ${asked.name}`,
    asked: asked ?? { name: "" },
    keyVariables: [asked?.provider?.api_key_env ?? []].flat(),
    unreachable: unreachable ?? (asked === undefined ? none : undefined),
  };
}

/** A file of the harness on the machine, or why it can't be read. */
async function asWritten<Content>(
  host: Host,
  path: string,
  parse: (text: string) => Content,
): Promise<{ readonly content: Content } | { readonly unreadable: string }> {
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
