import { defined } from "@local-serving/base/faults/defined";
import { UnreadableInput } from "@local-serving/base/faults/fault";
import { parseJson } from "@local-serving/base/faults/jsonDocument";
import { configureAnalytics } from "@local-serving/harness/analytics/configuration";
import { checkProfile } from "@local-serving/harness/providers/check";
import { type AskedProvider, askedProviders } from "@local-serving/harness/providers/probe";
import { parseProfile } from "@local-serving/harness/providers/profile";
import { isHere, isLoopback } from "@local-serving/machines/address";
import type { MachinePlan } from "../../components/plan";
import { PLACEHOLDER_KEY } from "../../components/planned";
import { SIMPLE_SERVER } from "../../components/planned/fields";
import { Api, MESSAGES_VERSION } from "../sees/api";
import type { Host } from "../sees/host";
import type { LlamaSwap } from "../sees/onDemand/llamaSwap";
import { hasOnDemand, llamaSwapOf } from "../sees/onDemand/onDemand";
import { SwapApi } from "../sees/onDemand/swapApi";
import { stoppedServers } from "../sees/onRequest";
import { originFromHere, type Tunnel } from "../sees/tunnel";
import { type At, bridgeTargets, type Here, messagesClient } from "./bridgeTargets";
import { instanceATargets } from "./instanceATargets";
import { simpleModelName } from "./probes/ollamaTools";
import { ranksTargets } from "./ranksTarget";
import type {
  ChatUiTarget,
  HarnessTarget,
  OnDemandTarget,
  ProviderTarget,
  ReadFile,
  ServerTarget,
  ServiceTarget,
  SimpleModelTarget,
  SimpleServerTarget,
  Target,
  TargetOptions,
} from "./target";

/** Headers of clients whose server ignores the key's value: one goes with each request. */
const SERVER_HEADERS = { ...MESSAGES_VERSION, "x-api-key": PLACEHOLDER_KEY };

/** The servers that don't run, as planned: why, by their containers. */
type Stopped = Awaited<ReturnType<typeof stoppedServers>>;

/** Everything of one machine that can be probed. */
export async function targetsOf(
  machine: MachinePlan,
  host: Host,
  options: TargetOptions,
  tunnel?: Pick<Tunnel, "ports">,
): Promise<Target[]> {
  const began = Date.now();
  const { timeoutSeconds } = options;
  const here: Here = {
    machine,
    host,
    unreachable:
      isHere(machine) || tunnel !== undefined
        ? undefined
        : `it can only be read on the machine itself: run this command on ${machine.name}`,
  };
  const at: At = (listening, headers) => {
    const { url = "", unreachable } = originFromHere(machine, listening, tunnel);
    return { machine, host, api: new Api(url, timeoutSeconds, headers), unreachable };
  };
  const stopped = await stoppedServers(machine, host);
  const swap = hasOnDemand(machine) ? await llamaSwapOf(machine, tunnel, host) : undefined;
  const servers = inferenceServers(machine, at, options, { stopped, swap });
  return [
    ...(await instanceATargets(here, options, tunnel)),
    ...ranksTargets(machine, at, options),
    ...servers,
    ...onDemandTargets(machine, at, swap),
    ...bridgeTargets(machine, host, at, servers),
    ...chatUis(machine, at, [...stopped.keys()]),
    ...simpleServers(machine, at),
    ...simpleModels(machine, at, options),
    ...otherServices(machine, at),
    ...(await harnessTargets(here, timeoutSeconds, tunnel)).map((each) => ofRunning(each, stopped)),
    { kind: "machine", name: machine.name, began, ...here },
  ];
}

function inferenceServers(
  machine: MachinePlan,
  at: At,
  { baseUrl, timeoutSeconds }: TargetOptions,
  { stopped, swap }: { readonly stopped: Stopped; readonly swap: LlamaSwap | undefined },
): ServerTarget[] {
  const { onDemand } = machine;
  const all = machine.inferenceServers.map((server): ServerTarget => {
    const { names, maxModelLen } = server.serve;
    const bySwap = onDemand?.servers.some(({ key }) => key === server.key) === true && swap;
    // Who asks it behind llama-swap's back isn't counted, and has it stopped in mid-answer.
    const place = bySwap
      ? {
          ...at(onDemand),
          api: new SwapApi(bySwap, server.key, timeoutSeconds, MESSAGES_VERSION),
          keys: bySwap.keys,
        }
      : at(server.reach, SERVER_HEADERS);
    return {
      kind: "inference-server",
      name: server.container.name,
      ...place,
      unreachable: stopped.get(server.container.name) ?? place.unreachable,
      ...defined({ stopped: stopped.get(server.container.name) }),
      server,
      aliases: names.filter((name) => name !== server.servedModelName),
      maxModelLen,
      setting: (key) => `machines.${machine.name}.inferenceServers.${server.key}.${key}`,
      messagesVia: messagesClient(machine)?.via,
      alone: baseUrl !== undefined,
    };
  });
  if (baseUrl === undefined) return all;
  const { port } = new URL(baseUrl);
  const meant = all.find((each) => String(each.server.reach.port) === port) ?? all[0];
  if (meant === undefined) return [];
  return [
    { ...meant, api: new Api(baseUrl, timeoutSeconds, SERVER_HEADERS), unreachable: undefined },
  ];
}

function onDemandTargets(
  { onDemand: planned }: MachinePlan,
  at: At,
  swap: LlamaSwap | undefined,
): OnDemandTarget[] {
  if (planned === undefined || swap === undefined) return [];
  const { api: _, ...place } = at(planned);
  return [{ kind: "on-demand", name: "llama-swap", ...place, keys: swap.keys, planned, swap }];
}

function chatUis({ chatUi }: MachinePlan, at: At, stopped: readonly string[]): ChatUiTarget[] {
  if (chatUi === null) return [];
  const { container } = chatUi;
  return [{ kind: "chat-ui", name: container.name, ...at(chatUi), container, stopped }];
}

function simpleServers({ simpleServer: plan }: MachinePlan, at: At): SimpleServerTarget[] {
  if (plan.mode !== "host") return [];
  const place = at({ address: plan.listen, port: plan.port });
  return [{ kind: "simple-server", name: "simple server (Ollama)", ...place, plan }];
}

function simpleModels(
  { simpleServer: plan }: MachinePlan,
  at: At,
  { only }: TargetOptions,
): SimpleModelTarget[] {
  if (plan.mode !== "host") return [];
  const place = at({ address: plan.listen, port: plan.port }, SERVER_HEADERS);
  const common = { ...place, kind: "simple-model", plan, named: only !== undefined } as const;
  return plan.models.map((model) => ({ ...common, name: simpleModelName(model), model }));
}

/** Services whose own API probes know. */
const KNOWN: ReadonlySet<string> = new Set(["bridge", "chat-ui", SIMPLE_SERVER]);

function otherServices({ services, reach }: MachinePlan, at: At): ServiceTarget[] {
  return services.flatMap(({ name, container }): ServiceTarget[] => {
    const listening = reach.find(({ key }) => key === name);
    if (KNOWN.has(name) || listening === undefined) return [];
    return [{ kind: "service", name: container ?? name, ...at(listening) }];
  });
}

/** The harness's files and every provider in them; nothing if the stack file has no `harness`. */
async function harnessTargets(
  here: Here,
  timeoutSeconds: number,
  tunnel?: Pick<Tunnel, "ports">,
): Promise<(HarnessTarget | ProviderTarget)[]> {
  const { machine, host, unreachable } = here;
  const { harness } = machine;
  if (harness === null) return [];
  const asRead = async <Content>(
    path: string,
    parse: (text: string) => Content,
  ): Promise<ReadFile<Content>> =>
    unreachable === undefined
      ? asWritten(host, path, (text) => parse(fromHere(text, machine, tunnel?.ports)))
      : { unreadable: unreachable };
  const profile = await asRead(harness.providers, (text) => {
    const document = parseProfile(harness.providers, text);
    const verdict = checkProfile(document);
    return { verdict, providers: askedProviders(document, verdict) };
  });
  const analytics = await asRead(harness.analytics, (text) =>
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
  const files: HarnessTarget = {
    ...common,
    kind: "harness",
    name: "the harness's files",
    keyVariables: [judgeKeyVariable],
    profile,
    analytics,
    judgeKeyVariable,
  };
  return [
    files,
    ...(providers.length > 0 ? providers : [undefined]).map((asked) =>
      providerTarget(asked, common),
    ),
  ];
}

/** A provider that is a server of ours isn't asked where that doesn't run, as planned. */
function ofRunning(target: HarnessTarget | ProviderTarget, stopped: Stopped) {
  if (target.kind !== "harness-provider") return target;
  const { machine, asked, unreachable } = target;
  const server = machine.inferenceServers.find(({ key }) => `local-${key}` === asked.name);
  const why = server && stopped.get(server.container.name);
  return { ...target, unreachable: why ?? unreachable };
}

/** A text of the harness with the addresses of its own machine as this program reaches them. */
function fromHere(
  text: string,
  { reach }: MachinePlan,
  ports: Tunnel["ports"] = new Map(),
): string {
  return text.replace(
    /(?<![\w.-])(localhost|\d{1,3}(?:\.\d{1,3}){3}):(\d+)\b/g,
    (given, address, port) => {
      const here = ports.get(Number(port));
      const own = isLoopback(address) || reach.some((each) => each.address === address);
      return here !== undefined && own ? `127.0.0.1:${here}` : given;
    },
  );
}

function providerTarget(
  asked: AskedProvider | undefined,
  common: Here & Pick<ProviderTarget, "timeoutSeconds">,
): ProviderTarget {
  const none = "the profile on the machine names no provider (see harness-profile)";
  return {
    ...common,
    kind: "harness-provider",
    name: asked === undefined ? "the harness's providers" : `provider ${asked.name}`,
    asked: asked ?? { name: "" },
    keyVariables: [asked?.provider?.api_key_env ?? []].flat(),
    unreachable: common.unreachable ?? (asked === undefined ? none : undefined),
  };
}

async function asWritten<Content>(
  host: Host,
  path: string,
  parse: (text: string) => Content,
): Promise<ReadFile<Content>> {
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
