import { dirname } from "node:path";
import { defined } from "@local-serving/base/faults/defined";
import { objectsIn, textOr } from "@local-serving/base/faults/json";
import { holdsSecret } from "@local-serving/base/faults/secrets";
import { BYTES_PER_GIB } from "@local-serving/base/units/memory";
import { EVERY_ADDRESS, type Listening } from "@local-serving/machines/address";
import type { ContainerState } from "@local-serving/machines/docker/containers";
import type { Files } from "@local-serving/machines/files";
import type { Listener, ListeningSocket } from "@local-serving/machines/listeners";
import { clientFacts, nameForClients } from "@local-serving/vllm/argv/clientFacts";
import {
  demandOfProcess,
  humanReadableInteger,
  shareFrom,
} from "@local-serving/vllm/argv/memoryDemand";
import {
  isOn,
  readServerArguments,
  type ServerArguments,
} from "@local-serving/vllm/argv/serverArguments";
import { serverInvocations } from "@local-serving/vllm/argv/serverInvocations";
import { isText } from "@local-serving/vllm/argv/unknown";
import { type MemoryDemand, shareToDeclare, TEN_THOUSAND } from "@local-serving/vllm/utilization";
import { Api } from "../api";
import { readMetrics } from "../metrics";
import type { HostServer } from "./facts";

/** What is known of the machine before its servers are looked at. */
export interface Around {
  readonly files: Files;
  readonly proc: string;
  readonly totalGiB: number;
  readonly sockets: readonly ListeningSocket[];
  readonly listeners: readonly Listener[];
  /** Running containers that no stack of ours made. */
  readonly containers: readonly ContainerState[];
  /** Ports of another user's process that is asked whether it is a vLLM. */
  readonly usualPorts: readonly number[];
  /**
   * Scheme, host and port by which this program asks what listens there; `undefined` where it can't.
   */
  origin(listening: Listening): string | undefined;
}

/**
 * Options that say what a server is and what it takes; the value of any other, such as `--api-key`,
 * is left unread.
 */
const KEPT = [
  "served-model-name",
  "host",
  "port",
  "tensor-parallel-size",
  "max-model-len",
  "max-num-seqs",
  "gpu-memory-utilization",
  "kv-cache-memory-bytes",
  "kv-cache-dtype",
  "quantization",
  "tool-call-parser",
  "cpu-offload-gb",
  "kv-offloading-size",
  "swap-space",
];

const CHOICE = "enable-auto-tool-choice";

/**
 * Every vLLM on the machine that isn't ours, the one on the lowest port first: by its argv, its
 * container, its own answers.
 */
export async function readHostServers(around: Around): Promise<HostServer[]> {
  const { listeners, containers } = around;
  const found = await Promise.all(listeners.map((listener) => hostServer(listener, around)));
  const servers = found.filter((server) => server !== undefined);
  const contained = containers.filter(({ gpuMemoryUtilization: share }) => share !== undefined);
  for (const container of contained) {
    const ports = container.ports.map(({ host }) => host);
    const isIts = ({ port, runsIn, share }: HostServer) =>
      runsIn === containerText(container) ||
      ports.includes(port) ||
      (ports.length === 0 && runsIn === undefined && share === undefined);
    const at = servers.findIndex(isIts);
    const [port = USUAL_PORT] = ports;
    const [published] = container.ports;
    const server = servers[at] ?? { port, address: published?.ip ?? EVERY_ADDRESS };
    const { gpuMemoryUtilization, memory } = container;
    const share =
      memory === undefined ? gpuMemoryUtilization : shareToDeclare(memory, around.totalGiB);
    const known = {
      runsIn: containerText(container),
      ...defined({ share }),
      shareFrom: "container" as const,
    };
    const merged = { ...server, ...known };
    if (at < 0) servers.push(merged);
    else servers[at] = merged;
  }
  return servers.sort((a, b) => a.port - b.port);
}

/** vLLM's own default. */
const USUAL_PORT = 8000;

const containerText = ({ name }: ContainerState) => `container ${name}`;

async function hostServer(listener: Listener, around: Around): Promise<HostServer | undefined> {
  const { port, pid, argv } = listener;
  const { containers, sockets, usualPorts } = around;
  const address = addressOf(sockets, port);
  if (argv !== undefined) {
    const [words] = serverInvocations(argv, new Map()).servers;
    if (words === undefined) return undefined;
    const told = fromArgv(argv, readServerArguments(words), around.totalGiB);
    const venv = await venvOf(argv, around.files);
    const asked = (await answers({ address, port }, around)) ?? {};
    const runsIn = pid === undefined ? undefined : await unitOf(pid, around);
    return { port, address, ...asked, ...told, ...defined({ venv, runsIn }) };
  }
  const contained = containers.some(({ ports }) => ports.some(({ host }) => host === port));
  if (!contained && !usualPorts.includes(port)) return undefined;
  const asked = await answers({ address, port }, around);
  if (asked === undefined) return undefined;
  return {
    port,
    address,
    ...asked,
    ...(contained ? {} : { unread: "it belongs to another user" }),
  };
}

/** An address as URLs and ssh have it. */
export const inUrl = (address: string) => (address.includes(":") ? `[${address}]` : address);

/** Address of a port's socket; every IPv6 address is every address. */
export function addressOf(sockets: readonly ListeningSocket[], port: number): string {
  const address = sockets.find((socket) => socket.port === port)?.address ?? EVERY_ADDRESS;
  return address === "::" ? EVERY_ADDRESS : address;
}

function fromArgv(
  argv: readonly string[],
  args: ServerArguments,
  totalGiB: number,
): Partial<HostServer> {
  const first = (name: string) => {
    const [value] = args.options.get(name) ?? [];
    return isText(value) && !holdsSecret(value) ? value : undefined;
  };
  const model = isText(args.model) && !holdsSecret(args.model) ? args.model : undefined;
  const window = humanReadableInteger(first("max-model-len") ?? "");
  const demand = demandOfProcess(argv);
  const { names, toolParser, holdsKey } = clientFacts(args);
  return {
    ...defined({
      model,
      servedModelName: nameForClients(names),
      maxModelLen: window,
      toolParser: args.unreadable.length === 0 ? toolParser : undefined,
      asksForKey: holdsKey || undefined,
    }),
    ...(demand === undefined
      ? { unread: args.unreadable[0] ?? "how much memory it asks for can't be told" }
      : {
          argv: ["vllm", "serve", ...(model === undefined ? [] : [model]), ...keptOptions(args)],
          share: shareToDeclare(demand, totalGiB),
          shareFrom: args.options.has("gpu-memory-utilization")
            ? ("argv" as const)
            : ("default" as const),
        }),
  };
}

/** The options that are told of how a server was started. */
function keptOptions(args: ServerArguments): string[] {
  const kept = KEPT.flatMap((name) => {
    const values = (args.options.get(name) ?? []).filter(isText);
    return values.length === 0 || values.some(holdsSecret) ? [] : [`--${name}`, ...values];
  });
  return isOn(args, CHOICE) ? [...kept, `--${CHOICE}`] : kept;
}

/** The Python environment that a process runs in, by the path of its program. */
async function venvOf(
  [program = ""]: readonly string[],
  files: Files,
): Promise<string | undefined> {
  const folder = dirname(dirname(program));
  if (!program.startsWith("/")) return undefined;
  return typeof (await files.state(`${folder}/pyvenv.cfg`)) === "object" ? folder : undefined;
}

/** The systemd unit or the container that a process belongs to, by its control group. */
async function unitOf(
  pid: number,
  { files, proc, containers }: Around,
): Promise<string | undefined> {
  const group = (await files.text(`${proc}/${pid}/cgroup`)) ?? "";
  const id = /docker[-/]([0-9a-f]{64})/.exec(group)?.[1];
  const container = containers.find((each) => each.id === id);
  return container === undefined
    ? /\/([^/\s]+\.service)$/m.exec(group)?.[1]
    : containerText(container);
}

/** What a server says of itself without a key; `undefined` where it isn't a vLLM. */
async function answers(
  { address, port }: Pick<HostServer, "address" | "port">,
  { origin, totalGiB }: Around,
) {
  const url = origin({ address: inUrl(address), port });
  if (url === undefined) return undefined;
  const api = new Api(url);
  const none = () => undefined;
  const [version, models, metrics] = await Promise.all([
    api.json("/version").catch(none),
    api.json("/v1/models").catch(none),
    readMetrics(api).catch(none),
  ]);
  const listed = objectsIn(models?.data);
  const [first] = listed;
  if (metrics === undefined && first?.owned_by !== "vllm") return undefined;
  const demand = demandIn(metrics?.labels("vllm:cache_config_info") ?? {});
  const window = Number(first?.max_model_len);
  return defined({
    version: textOr(version?.version) || undefined,
    model: textOr(first?.root) || undefined,
    servedModelName: nameForClients(listed.map(({ id }) => textOr(id)).filter(Boolean)),
    asksForKey: listed.length > 0 ? false : undefined,
    maxModelLen: Number.isInteger(window) && window > 0 ? window : undefined,
    ...(demand && { share: shareToDeclare(demand, totalGiB), shareFrom: "metrics" as const }),
  });
}

/** What its metrics say that it asks of the memory. */
function demandIn(labels: Readonly<Record<string, string>>): MemoryDemand | undefined {
  const share = shareFrom(labels.gpu_memory_utilization ?? "", "the metric");
  if (!share.known) return undefined;
  const bytes = humanReadableInteger(labels.kv_cache_memory_bytes ?? "");
  const utilization = share.tenThousandths / TEN_THOUSAND;
  return bytes === undefined ? { utilization } : { utilization, kvCacheGiB: bytes / BYTES_PER_GIB };
}
