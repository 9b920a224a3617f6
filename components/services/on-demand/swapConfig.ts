import { stringify } from "yaml";
import { isPooling } from "../../planned";
import type { OnDemandAround, OnDemandPlan } from "./onDemandPlan";

/** Variable by which llama-swap reads its key; the wrapper sets it from the file. */
const KEY_VARIABLE = "LOCAL_SERVING_SWAP_KEY";

/** What llama-swap waits beyond a start and the stops before it, in seconds. */
const MORE_SECONDS = 60;

/** vLLM queues by itself; llama-swap's own limit answers 429 from the 11th request on. */
const NO_LIMIT = 100_000;

/** What the wrapper lets a container take to stop, beside its grace, in seconds. */
const STOP_SECONDS = 30;

/** One entry of llama-swap's `models`. It ignores keys that it doesn't know. */
interface SwapModel {
  readonly cmd: string;
  readonly proxy: string;
  readonly checkEndpoint: "/health";
  readonly aliases: readonly string[];
  readonly ttl: number;
  readonly concurrencyLimit: number;
  readonly capabilities: {
    readonly in?: readonly ["text"];
    readonly out?: readonly ["text"];
    readonly tools?: true;
    readonly reranker?: true;
    readonly context: number;
  };
}

/** llama-swap's configuration, as far as we write it (v250). */
interface SwapConfig {
  readonly healthCheckTimeout: number;
  readonly unloadTimeout: number;
  /** At `info` it writes a line for each look of the wrapper. */
  readonly logLevel: "warn";
  /** Prompts and answers that are kept for its pages, in MB. */
  readonly captureBuffer: 0;
  /** With it a start that fails looks like an empty answer. */
  readonly sendLoadingState: false;
  readonly performance: { readonly disabled: true };
  /** Clients look for the name that they ask for in the list of models. */
  readonly includeAliasesInList: true;
  readonly apiKeys?: readonly string[];
  readonly models: Readonly<Record<string, SwapModel>>;
  readonly routing: {
    readonly router: {
      readonly use: "matrix";
      readonly settings: {
        readonly matrix: {
          readonly vars: Readonly<Record<string, string>>;
          readonly evict_costs: Readonly<Record<string, number>>;
          readonly sets: Readonly<Record<string, string>>;
        };
      };
    };
  };
}

/**
 * llama-swap's configuration, as YAML. It holds no key. There is no command that stops: the wrapper
 * is sent TERM, and decides what to do with its container.
 */
export function swapConfig(planned: OnDemandPlan, around: OnDemandAround): string {
  const grace = Math.max(0, ...planned.servers.map(({ graceSeconds }) => graceSeconds));
  const config: SwapConfig = {
    healthCheckTimeout: planned.startWithinMinutes * 60 + grace + MORE_SECONDS,
    unloadTimeout: grace + STOP_SECONDS,
    logLevel: "warn",
    captureBuffer: 0,
    sendLoadingState: false,
    performance: { disabled: true },
    includeAliasesInList: true,
    ...(planned.keyVariable === undefined ? {} : { apiKeys: [`\${env.${KEY_VARIABLE}}`] }),
    models: Object.fromEntries(
      planned.servers.map((server) => [server.model, swapModel(planned, server, around.servers)]),
    ),
    routing: { router: { use: "matrix", settings: { matrix: matrix(planned, around.together) } } },
  };
  return [
    `# llama-swap of machine \`${around.machine}\`. Written by local-serving from the stack file: edits are lost at the next update.`,
    stringify(config, { aliasDuplicateObjects: false, lineWidth: 0 }),
  ].join("\n");
}

function swapModel(
  { folder }: OnDemandPlan,
  { key, container, names, port, idleMinutes }: OnDemandPlan["servers"][number],
  servers: OnDemandAround["servers"],
): SwapModel {
  const server = servers.find((each) => each.key === key);
  const kind = server?.model.kind ?? "chat";
  const context = server?.serve.maxModelLen ?? 0;
  return {
    cmd: `/usr/bin/env python3 -I ${folder}/on-demand.py start ${container}`,
    proxy: `http://127.0.0.1:${port}`,
    checkEndpoint: "/health",
    aliases: names,
    ttl: (idleMinutes ?? 0) * 60,
    concurrencyLimit: NO_LIMIT,
    capabilities: isPooling(kind)
      ? { ...(kind === "rerank" ? { reranker: true } : {}), context }
      : {
          in: ["text"],
          out: ["text"],
          ...(server?.serve.toolParser ? { tools: true } : {}),
          context,
        },
  };
}

/** Which servers run together, and that the ones which take most memory are stopped last. */
function matrix(
  { servers }: OnDemandPlan,
  { sets, servers: figures }: OnDemandAround["together"],
): SwapConfig["routing"]["router"]["settings"]["matrix"] {
  const cost = (key: string) =>
    Math.max(1, Math.round(figures.find((each) => each.key === key)?.takenGiB ?? 1));
  return {
    vars: Object.fromEntries(servers.map(({ key, model }) => [key, model])),
    evict_costs: Object.fromEntries(servers.map(({ key }) => [key, cost(key)])),
    sets: Object.fromEntries(sets.map((set, index) => [`s${index + 1}`, set.join(" & ")])),
  };
}
