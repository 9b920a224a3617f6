import { defined } from "@local-serving/base/faults/defined";
import { Failed } from "@local-serving/base/faults/fault";
import { putAt } from "@local-serving/base/faults/json";
import { GIB_PER_GB, hundredths } from "@local-serving/base/units/memory";
import { EVERY_ADDRESS, isLoopback, isOverSsh } from "@local-serving/machines/address";
import { totalOfAnother, whyNoServer } from "@local-serving/machines/devices/devices";
import { upToHundredth } from "@local-serving/vllm/utilization";
import { CLIENTS, type ClientKey } from "../../components/clients";
import { INSTANCE_A, servedName } from "../../components/planned/fields";
import { SERVICES } from "../../components/services";
import { ollamaModelName } from "../../components/services/simple-server";
import { pinnedServer } from "../../components/supply";
import { reasonsOf, type ServerValue } from "../models/serverValues";
import type { HostFacts, HostServer } from "../sees/computer/facts";
import { INSTANCE_A_KEY } from "../sees/instanceA";
import type { OneMachine } from "../stack/readStack";
import { pageFromProject } from "../stack/stackFile";
import type { EditValue } from "../stackEdit/applyEdits";
import { gpuTakers, systemGiB, UNEXPLAINED_GIB } from "./counted";
import { declaredPorts } from "./declared";
import type { Digests } from "./pinnedImages";
import { isInRegistry, pinsImage, type ServerImage } from "./serverImage";
import type { NewServer } from "./withServers";

/** A server of ours in a new stack file. */
export interface WantedServer {
  readonly key: string;
  readonly values: readonly ServerValue[];
  readonly image: ServerImage;
  readonly port: number;
}

/** What was asked for beside the facts. */
export interface Wanted {
  /** Name of the stack. */
  readonly name: string;
  /** The stack file that gets the servers, where there is one already. */
  readonly into?: OneMachine;
  /** Server B's own values; without them there is no B. */
  readonly server?: readonly ServerValue[];
  /** Its key in the file, where there are several. Default: b. */
  readonly key?: string;
  /** Further servers of ours. */
  readonly beside?: readonly WantedServer[];
  /** Its image and what is known of it. Default: the pinned release. */
  readonly image?: ServerImage;
  /** What registries said of images that a command names. */
  readonly digests?: Digests;
  /** Its port. Default: the first free one from 8001 on. */
  readonly port?: number;
  /** Folder of the machine with the models, where a command says it. */
  readonly modelCache?: string;
  /** What a command has that the file has not, a sentence each. */
  readonly leftOut?: readonly string[];
  /** What blocks of services take over of programs that ran so far, by their keys. */
  readonly takenOver?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Share that instance A is to be lowered to by its owner. */
  readonly lowerA?: number;
  /** How other computers know the machine, where the local network is served. */
  readonly network?: string;
  readonly clients: readonly ClientKey[];
  /** Names of what holds GPU memory and isn't to be counted. */
  readonly uncounted?: readonly string[];
  /** What the operating system needs, where a person said it. */
  readonly systemGiB?: number;
  /** Variables with the chat UI's first account. */
  readonly administrator?: { readonly emailVariable: string; readonly passwordVariable: string };
}

/** Variable of the operator's shell with the bridge's key. */
const BRIDGE_KEY = "LOCAL_SERVING_BRIDGE_KEY";

type Settings = Record<string, unknown>;

/** A machine's settings with the reason for each, by dotted path. Pure. */
export function settingsFor(
  facts: HostFacts,
  wanted: Wanted,
): { settings: Settings; comments: Map<string, string> } {
  const { memory, dockerHost, home, modelCache, servers, ollama } = facts;
  const [a] = countedServers(facts);
  const venvs = servers.flatMap(({ venv }) => venv ?? []);
  const comments = new Map(Object.entries(COMMENTS));
  const settings = {
    totalGiB: memory.totalGiB,
    device: declaredDevice(facts),
    operatingSystemGiB: wanted.systemGiB ?? operatingSystem(facts, wanted),
    dockerHost,
    home,
    modelCache: wanted.modelCache ?? (modelCache.usual ? undefined : modelCache.path),
    instanceA: a === undefined ? "none" : instanceA(a, facts, wanted, comments),
    otherGpuMemoryGiB: otherMemory(facts, wanted, comments),
    ...(wanted.server === undefined ? {} : ourServers(facts, wanted, wanted.server, comments)),
    ...services(facts, wanted, comments),
    simpleServer:
      ollama?.unit === true
        ? { ...simpleServer(ollama), ...wanted.takenOver?.simpleServer }
        : undefined,
    venvs: venvs.length === 0 ? undefined : venvs,
  };
  if (a === undefined) comments.set("instanceA", servers.length === 0 ? NO_INSTANCE_A : UNCOUNTED);
  if (wanted.modelCache !== undefined) comments.set("modelCache", "From the command's volume.");
  if (dockerHost !== undefined && isOverSsh({ dockerHost })) comments.set("dockerHost", overSsh());
  return { settings, comments };
}

/** The vLLM servers that count, instance A first: in its own memory, a GPU's take nothing of a plan. */
const countedServers = ({ device, servers }: HostFacts): readonly HostServer[] =>
  whyNoServer(device) === undefined ? servers : [];

/** What others than instance A and Ollama take of the GPU's memory, in GiB. */
function otherMemory(
  facts: HostFacts,
  wanted: Wanted,
  comments: Map<string, string>,
): number | undefined {
  const [, ...others] = countedServers(facts);
  const takers = gpuTakers(facts, wanted);
  const taken = [
    ...others.map(({ share = 0 }) => share * facts.memory.totalGiB),
    ...takers.map(({ gib }) => gib),
  ];
  const named = takers.map(({ name, gib }) => `${name} (${gib} GiB)`);
  if (others.length > 0) named.unshift("the other vLLM servers");
  if (takers.length > 0)
    comments.set("otherGpuMemoryGiB", `What ${named.join(", ")} took when this was written.`);
  return taken.length === 0 ? undefined : hundredths(taken.reduce((sum, gib) => sum + gib, 0));
}

const NO_INSTANCE_A =
  "No vLLM of your own runs. If one does at other times, start it, remove this file and run `serving init` again: its memory counts.";

/** The vLLM of a machine that gets no server of ours is no instance A. */
const UNCOUNTED =
  "The vLLM that runs here isn't counted: plans know what one takes on NVIDIA GPUs that share the machine's memory alone.";

const overSsh = () =>
  `Another computer: its files are written and read over this ssh (${pageFromProject("docs/guide/elsewhere.md")}).`;

const COMMENTS = {
  totalGiB: "MemTotal of /proc/meminfo, in GiB.",
  operatingSystemGiB:
    "MemTotal - MemAvailable of /proc/meminfo when this was written, less what vLLM and Ollama took then.",
  device: "What the machine was recognised as; `up` compares the machine with it.",
  dockerHost: "From DOCKER_HOST.",
  home: "What `~/` means there.",
  modelCache: "From HF_HOME.",
  otherGpuMemoryGiB: "What the other vLLM servers take.",
  "instanceA.toolParser": "From its command line; coding clients need one.",
  "instanceA.keyVariable":
    "Whether it asks for a key, and the variable of your shell that holds it.",
  "inferenceServers.b": "Instance B: a vLLM of ours, in a container.",
  "inferenceServers.b.image": "The digest is what runs; the tag is for people.",
  "inferenceServers.b.versions": "`serving pin IMAGE:TAG --write` reads them inside the image.",
  clients: "Programs that get files for these servers; your own files stay as they are.",
  "clients.host": "How other computers know this machine.",
  simpleServer:
    "Ollama. Its settings go into a drop-in of ollama.service, which needs root: `serving plan simple-server` prints the commands.",
  "simpleServer.loadedGiB":
    "What Ollama said that a loaded model took; of any other an estimate: 1.25 of its file, and 2 GiB. `serving verify --only ollama-memory` prints the figure.",
  venvs: "Where instance A runs: `serving status --versions` reads its versions.",
};

/** The device, unless the machine has another memory than was seen of it: that is a fault. */
const declaredDevice = ({ device, memory }: HostFacts): string | undefined =>
  totalOfAnother(device, memory.totalGiB) === undefined ? device : undefined;

/** What the operating system takes, where that can be told and isn't more than one needs. */
function operatingSystem(facts: HostFacts, wanted: Wanted): number | undefined {
  const left = systemGiB(facts, wanted);
  return left === undefined || left > UNEXPLAINED_GIB ? undefined : left;
}

/**
 * The share that instance A runs with. What can't be read counts as everything in use: that is
 * never too little.
 */
export const shareOfA = (
  { share }: HostServer,
  { totalGiB, availableGiB }: HostFacts["memory"],
): number => share ?? Math.min(1, upToHundredth((totalGiB - availableGiB) / totalGiB));

function instanceA(
  a: HostServer,
  { memory }: HostFacts,
  { lowerA }: Wanted,
  comments: Map<string, string>,
) {
  const { port, address, maxModelLen, model, runsIn, toolParser, asksForKey } = a;
  const runs = shareOfA(a, memory);
  const message = `Instance A is the vLLM on port ${port}${runsIn === undefined ? "" : `, run by ${runsIn}`}. It is not ours: nothing here starts, stops or changes it. It is declared because its memory counts.`;
  comments.set("instanceA", message);
  comments.set(
    "instanceA.gpuMemoryUtilization",
    lowerA !== undefined
      ? `It runs with ${runs}, which leaves too little. Restart it with --gpu-memory-utilization ${lowerA} before \`serving up\`, which refuses until then.`
      : a.share === undefined
        ? "It can't be read, so all memory in use counts as its own. Write its --gpu-memory-utilization here."
        : "As it runs.",
  );
  const listen = address.includes(":") && isLoopback(address) ? "127.0.0.1" : address;
  return {
    port,
    listen: listen.includes(":") || listen === EVERY_ADDRESS ? undefined : listen,
    gpuMemoryUtilization: lowerA ?? runs,
    servedModelName: nameOf(a),
    toolParser,
    keyVariable: asksForKey === undefined ? undefined : asksForKey ? INSTANCE_A_KEY : "none",
    maxModelLen,
    model,
  };
}

/** The name that instance A serves its model by, where clients can ask for it. */
const nameOf = ({ servedModelName }: HostServer): string | undefined =>
  servedName().safeParse(servedModelName).data;

/** Why no coding client is pointed at instance A; `undefined` where nothing is known against it. */
export function notForAgents(a: HostServer | undefined): string | undefined {
  const { toolParser, servedModelName = "" } = a ?? {};
  if (toolParser === "none")
    return "it makes no structured tool calls. Start it with `--enable-auto-tool-choice --tool-call-parser <parser>`";
  if (servedModelName.includes("/"))
    return `its name \`${servedModelName}\` has a slash. Start it with \`--served-model-name\` and put a name without a slash first`;
  return undefined;
}

/** Server B, and the others beside it. */
function ourServers(
  facts: HostFacts,
  wanted: Wanted,
  values: readonly ServerValue[],
  comments: Map<string, string>,
) {
  const blocks = newServers(facts, wanted, values).map(({ key, block, reasons }) => {
    if (key !== "b")
      comments.set(`inferenceServers.${key}`, "A further vLLM of ours, in a container.");
    for (const [path, why] of reasons) comments.set(`inferenceServers.${key}.${path}`, why);
    return [key, block] as const;
  });
  return { inferenceServers: Object.fromEntries(blocks) };
}

/** Server B, and the others beside it, as a stack file has them. */
export function newServers(
  facts: HostFacts,
  wanted: Wanted,
  values: readonly ServerValue[],
): NewServer[] {
  const { key = "b", beside = [], image = pinnedServer() } = wanted;
  const own = { key, values, image, port: wanted.port ?? freePort(8001, facts, wanted) };
  return [own, ...beside].map((server) => newServer(server, wanted.key));
}

/** One server. Where it is one of several, its image is pinned by its key. */
function newServer(
  { key, values, image, port }: WantedServer,
  ofSeveral: string | undefined,
): NewServer {
  const block: Record<string, EditValue> = {};
  for (const { path, value } of values) putAt(block, path, value);
  const pins = isInRegistry(image.image)
    ? `: ${pinsImage(image, ofSeveral && key)} pins it.`
    : ", and no registry has this image.";
  const reasons = reasonsOf(values);
  if (!image.image.includes("@")) reasons.set("image", `A tag alone can move${pins}`);
  return { key, values, block: { ...block, ...image, port }, reasons };
}

/** The machine's name in the file: the stack's, as far as a machine may have it. */
export function machineName({ name }: Pick<Wanted, "name">): string {
  const fitting = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]/g, "-")
    .slice(0, 31);
  return /^[a-z]/.test(fitting) ? fitting : "dgx";
}

/** The highest port that there is. */
const LAST_PORT = 65_535;

/**
 * The first port from `port` on that nothing but this machine's own containers listens on. Throws
 * `Failed` where there is none.
 */
export function freePort(
  port: number,
  { ports, docker }: Pick<HostFacts, "ports" | "docker">,
  wanted: Pick<Wanted, "name" | "port" | "beside" | "into">,
): number {
  const ours = docker.reachable
    ? docker.ours.filter(({ machine }) => machine === machineName(wanted))
    : [];
  const taken = new Set(ports);
  const declared = wanted.into === undefined ? [] : declaredPorts(wanted.into).keys();
  const besides = (wanted.beside ?? []).map(({ port: own }) => own);
  const planned = new Set([wanted.port, ...besides, ...declared]);
  for (const own of ours.flatMap((each) => each.ports)) taken.delete(own);
  for (let free = port; free <= LAST_PORT; free++)
    if (!planned.has(free) && !taken.has(free)) return free;
  throw new Failed(
    `Every port from ${port} to ${LAST_PORT} is taken on this machine: end what listens on some of them, then run this again.`,
  );
}

/**
 * Bridge, chat UI and clients of server B; without one, of instance A where it says what it serves.
 */
function services(facts: HostFacts, wanted: Wanted, comments: Map<string, string>): Settings {
  const [a] = countedServers(facts);
  const { network } = wanted;
  const ofA = servesA(wanted);
  if (ofA && (a === undefined || nameOf(a) === undefined)) return {};
  // No container reaches what listens on loopback alone.
  const reached = !ofA || !isLoopback(a?.address ?? "");
  // The bridge has no key for a server that isn't ours.
  const bridged = reached && !(ofA && a?.asksForKey);
  const unfit = ofA ? notForAgents(a) : undefined;
  const clients = CLIENTS.filter(
    ({ key, coding }) => wanted.clients.includes(key) && !(coding && unfit),
  ).map(({ key }) => {
    const viaBridge = bridged && (key === "claudeCode" || network !== undefined);
    const via = viaBridge ? "bridge" : "native";
    return [key, { server: ofA ? INSTANCE_A : oneOfSeveral(wanted), via }] as const;
  });
  return {
    ...(reached ? proposedServices(facts, wanted, comments) : {}),
    clients: { host: network, ...Object.fromEntries(clients) },
  };
}

/** The server of clients, where they have to be told which of several. */
const oneOfSeveral = ({ key = "b", beside = [] }: Wanted): string | undefined =>
  beside.every(({ values }) => makesVectors(values)) ? undefined : key;

/** Whether services and clients are instance A's: there is no server B, or it has no chat. */
const servesA = ({ server }: Wanted): boolean => server === undefined || makesVectors(server);

/** What each service proposes for itself. */
function proposedServices(
  facts: HostFacts,
  wanted: Wanted,
  comments: Map<string, string>,
): Settings {
  const { administrator, network } = wanted;
  const proposal = {
    freePort: (from: number) => freePort(from, facts, wanted),
    ...(network === undefined
      ? {}
      : { network: { listen: EVERY_ADDRESS, keyVariable: BRIDGE_KEY } }),
    ...(servesA(wanted) ? { servers: [INSTANCE_A] } : {}),
  };
  const settings: Settings = {};
  for (const { key, proposed } of SERVICES) {
    const made = proposed?.(proposal);
    if (made === undefined) continue;
    const { port = made.block.port, ...over } = wanted.takenOver?.[key] ?? {};
    const block = { ...over, ...defined(made.block), port };
    settings[key] = key === "chatUi" ? { ...block, administrator } : block;
    for (const [path, why] of Object.entries(made.comments ?? {}))
      comments.set(path === "" ? key : `${key}.${path}`, why);
  }
  return settings;
}

/** Whether a server has no chat that a service or a client could use. */
const makesVectors = (server: readonly ServerValue[]): boolean =>
  server.some(
    ({ path, value }) =>
      path.join(".") === "model.kind" && ["embedding", "rerank"].includes(String(value)),
  );

/** Our judgement of what a model takes that isn't loaded: a quarter beside its file, and its context. */
const estimated = (sizeGB: number): number => upToHundredth(sizeGB * GIB_PER_GB * 1.25 + 2);

function simpleServer({
  user,
  address,
  modelsDirectory,
  models,
}: NonNullable<HostFacts["ollama"]>) {
  const named = models.filter(({ name }) => ollamaModelName().safeParse(name).success);
  const loaded = named.map(({ name, sizeGB, loadedGiB = estimated(sizeGB) }) => [name, loadedGiB]);
  return {
    mode: "host",
    listen: address?.includes(":") ? undefined : address,
    modelsDirectory,
    serviceUser: user === "ollama" ? undefined : user,
    models: named.map(({ name }) => name),
    loadedGiB: loaded.length === 0 ? undefined : Object.fromEntries(loaded),
  };
}
