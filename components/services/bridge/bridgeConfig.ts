import type { DataOf } from "@local-serving/base/data/dataOf";
import { defined } from "@local-serving/base/faults/defined";
import { stringify } from "yaml";
import { everyName, PLACEHOLDER_KEY, type Upstream } from "../../planned";
import type { bridgeSchema } from "../../planned/schema";
import type { BridgeSettings } from "./settings";

/**
 * Names that a messages-style client asks for where a tier is not pinned (seen in Claude Code
 * 2.1.197 and 2.1.329), and a pattern for those of later versions. They reach the first server's
 * model.
 */
export const TIER_NAMES = [
  "claude-fable-5",
  "claude-fable-5-2",
  "claude-haiku-4-5-20251001",
  "claude-haiku-5-5",
  "claude-opus-4-8",
  "claude-opus-5-5",
  "claude-*",
];

/** How long a session stays on the machine that has its prefix: a working day. */
const SESSION_SECONDS = 8 * 3600;

/**
 * How long a server gets no request after it refused or broke a connection, or failed in any other
 * way.
 */
const COOLDOWN_SECONDS = 15;

/**
 * How often the servers of one name are asked whether they answer. A server that answers too slowly
 * counts as well: it may be busy.
 */
const HEALTH_CHECK_SECONDS = 60;

/**
 * A cold prefill of a long prompt takes about 20 minutes; LiteLLM's own limit would cut it off
 * after 10.
 */
const REQUEST_TIMEOUT_SECONDS = 3600;

/** What LiteLLM labels its figures with beside its own labels: how a client calls itself. */
const CALLED_BY = "metadata.user_agent";

/** That label as it stands in its figures. */
export const CLIENT_LABEL = CALLED_BY.replace(".", "_");

/** Variable inside the container that holds the key where it is a real one. */
export const MASTER_KEY_VARIABLE = "LITELLM_MASTER_KEY";

/** Variable inside the container that holds llama-swap's key. */
export const ON_DEMAND_KEY_VARIABLE = "LOCAL_SERVING_ON_DEMAND_KEY";

/** One entry of LiteLLM's `model_list`. */
interface ModelEntry {
  readonly model_name: string;
  readonly litellm_params: {
    readonly model: string;
    readonly api_base: string;
    readonly api_key: string;
    readonly timeout?: number;
    readonly stream_timeout?: number;
  };
  readonly model_info?: ModelInfo;
}

interface ModelInfo {
  readonly supported_endpoints?: readonly string[];
  readonly allowed_fails?: number;
  readonly cooldown_time?: number;
  readonly disable_background_health_check?: true;
}

/** A name that the bridge answers to, and the server that it sends it to. */
export type BridgeModel = DataOf<typeof bridgeSchema>["models"][number];

/**
 * Every name with its servers: their own names, the tiers, which reach the first server and
 * those of its name, and adapters.
 */
export function bridgeModels(servers: readonly Upstream[]): BridgeModel[] {
  const [first] = servers;
  return servers.flatMap((server) => {
    const { names, adapters = [], fromContainer, startWithinMinutes } = server;
    const entry = (name: string, model: string) => ({
      name,
      model: `hosted_vllm/${model}`,
      baseUrl: `${fromContainer}/v1`,
      ...defined({ startWithinMinutes }),
    });
    const tiers = names[0] === first?.names[0] ? TIER_NAMES : [];
    return [
      ...[...names, ...tiers].map((name) => entry(name, names[0] ?? name)),
      // The server tells an adapter by its name alone.
      ...adapters.map((name) => entry(name, name)),
    ];
  });
}

/** LiteLLM's configuration, as YAML. The only key in it is the placeholder. */
export function bridgeConfig(
  machineName: string,
  settings: BridgeSettings,
  models: readonly BridgeModel[],
  watched: boolean,
): string {
  const servers = new Map<string, number>();
  for (const { name } of models) servers.set(name, (servers.get(name) ?? 0) + 1);
  const most = Math.max(0, ...servers.values());
  const shared = [...servers].flatMap(([name, count]) =>
    count > 1 && !TIER_NAMES.includes(name) ? [name] : [],
  );
  const { router, general, info } = most > 1 ? routed(most, shared) : ALONE;
  const config = {
    model_list: models.map((each) => entry(each, settings, info)),
    litellm_settings: {
      drop_params: true,
      request_timeout: REQUEST_TIMEOUT_SECONDS,
      // If there is a key, only those who have it may read the figures.
      ...(watched
        ? {
            callbacks: ["prometheus"],
            custom_prometheus_metadata_labels: [CALLED_BY],
            require_auth_for_metrics_endpoint: settings.keyVariable !== undefined,
          }
        : {}),
    },
    router_settings: { ...router, timeout: REQUEST_TIMEOUT_SECONDS },
    general_settings: {
      master_key:
        settings.keyVariable === undefined ? PLACEHOLDER_KEY : `os.environ/${MASTER_KEY_VARIABLE}`,
      ...general,
      // Else whoever asks for /health would start every server.
      ...(models.some(isOnDemand) ? { health_check_skip_disabled_background_models: true } : {}),
    },
  };
  return [
    `# LiteLLM proxy of machine \`${machineName}\`. Written by local-serving from the stack file: edits are lost at the next update.`,
    "# `hosted_vllm/` sends messages on as chat completions; the generic prefix would send them to /v1/responses.",
    stringify(config, { aliasDuplicateObjects: false, lineWidth: 0 }),
  ].join("\n");
}

/**
 * A lone deployment in a cooldown answers 429 to everything, and retries only delay the news that
 * it is down.
 */
const ALONE = { router: { disable_cooldowns: true, num_retries: 0 }, general: {}, info: {} };

/**
 * Returns how LiteLLM spreads requests for `shared` names, of which each has at most `most`
 * servers.
 */
function routed(most: number, shared: readonly string[]) {
  return {
    router: {
      // LiteLLM draws a machine for a new session. `least-busy` gave every session to the first
      // machine while nothing was under way.
      routing_strategy: "simple-shuffle",
      optional_pre_call_checks: ["session_affinity"],
      deployment_affinity_ttl_seconds: SESSION_SECONDS,
      num_retries: most - 1,
    },
    general: {
      background_health_checks: true,
      health_check_interval: HEALTH_CHECK_SECONDS,
      background_health_check_model_groups: shared,
      enable_health_check_routing: true,
      health_check_ignore_transient_errors: true,
    },
    // Every deployment gets these. LiteLLM leaves a lone one alone that has them.
    info: { allowed_fails: 0, cooldown_time: COOLDOWN_SECONDS },
  };
}

/** Whether asking for a model starts its server. */
const isOnDemand = ({ startWithinMinutes }: BridgeModel): boolean =>
  startWithinMinutes !== undefined;

/** What a request waits for beside its own time: the start of its server. */
function seconds(
  startWithinMinutes: number,
): Pick<ModelEntry["litellm_params"], "timeout" | "stream_timeout"> {
  const timeout = startWithinMinutes * 60 + REQUEST_TIMEOUT_SECONDS;
  return { timeout, stream_timeout: timeout };
}

function entry(
  { name, model, baseUrl, startWithinMinutes }: BridgeModel,
  settings: BridgeSettings,
  routing: ModelInfo,
): ModelEntry {
  const passed = ["/v1/chat/completions", "/v1/messages", "/v1/responses"];
  const info = {
    ...(settings.messagesPath === "passThrough" ? { supported_endpoints: passed } : {}),
    ...routing,
    // A check is a request for an answer, which would start the server.
    ...(startWithinMinutes === undefined ? {} : { disable_background_health_check: true as const }),
  };
  return {
    model_name: name,
    litellm_params: {
      model,
      api_base: baseUrl,
      ...(startWithinMinutes === undefined
        ? { api_key: PLACEHOLDER_KEY }
        : { api_key: `os.environ/${ON_DEMAND_KEY_VARIABLE}`, ...seconds(startWithinMinutes) }),
    },
    ...(Object.keys(info).length === 0 ? {} : { model_info: info }),
  };
}

/** Names that the bridge answers to. */
export function bridgeNames(servers: readonly Upstream[]): string[] {
  return [...new Set([...servers.flatMap(everyName), ...TIER_NAMES])];
}
