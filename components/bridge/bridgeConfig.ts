import { stringify } from "yaml";
import { PLACEHOLDER_KEY, type Upstream } from "../planned/reach";
import type { BridgeSettings } from "../settings/bridge";

/**
 * Names that a messages-style client asks for where a tier is not pinned (seen in Claude Code 2.1.197 and 2.1.329), and
 * a pattern for those of later versions. They reach the first server's model.
 */
export const TIER_NAMES = [
  "claude-fable-5",
  "claude-fable-5-2",
  "claude-haiku-4-5-20251001",
  "claude-haiku-5-5",
  "claude-opus-4-8",
  "claude-opus-5-5",
  "claude-*",
] as const;

/** A cold prefill of a long prompt takes about 20 minutes; LiteLLM's own limit would cut it off after 10. */
const REQUEST_TIMEOUT_SECONDS = 3600;

/** Variable inside the container that holds the key where it is a real one. */
export const MASTER_KEY_VARIABLE = "LITELLM_MASTER_KEY";

/** One entry of LiteLLM's `model_list`. */
interface ModelEntry {
  readonly model_name: string;
  readonly litellm_params: { readonly model: string; readonly api_base: string; readonly api_key: string };
  readonly model_info?: { readonly supported_endpoints: readonly string[] };
}

/** A name that the bridge answers to, and the server that it sends it to. */
export interface BridgeModel {
  readonly name: string;
  /** Provider prefix and model, `hosted_vllm/model`. */
  readonly model: string;
  /** Where the server is asked. */
  readonly baseUrl: string;
}

/** Every name with its server: the servers' own names, and the tiers, which reach the first server. */
export function bridgeModels(servers: readonly Upstream[]): BridgeModel[] {
  return servers.flatMap((server, index) =>
    [...server.names, ...(index === 0 ? TIER_NAMES : [])].map((name) => ({
      name,
      model: `hosted_vllm/${server.names[0] ?? name}`,
      baseUrl: `${server.fromContainer}/v1`,
    })),
  );
}

/** LiteLLM's configuration, as YAML. The only key in it is the placeholder. */
export function bridgeConfig(machineName: string, settings: BridgeSettings, models: readonly BridgeModel[]): string {
  const config = {
    model_list: models.map((each) => entry(each, settings)),
    litellm_settings: { drop_params: true, request_timeout: REQUEST_TIMEOUT_SECONDS },
    // A lone deployment in a cooldown answers 429 to everything, and retries only delay the news that it is down.
    router_settings: { disable_cooldowns: true, num_retries: 0, timeout: REQUEST_TIMEOUT_SECONDS },
    general_settings: {
      master_key: settings.keyVariable === undefined ? PLACEHOLDER_KEY : `os.environ/${MASTER_KEY_VARIABLE}`,
    },
  };
  return [
    `# LiteLLM proxy of machine \`${machineName}\`. Written by local-serving from the stack file: edits are lost at the next update.`,
    "# `hosted_vllm/` sends messages on as chat completions; the generic prefix would send them to /v1/responses.",
    stringify(config, { aliasDuplicateObjects: false, lineWidth: 0 }),
  ].join("\n");
}

function entry({ name, model, baseUrl }: BridgeModel, settings: BridgeSettings): ModelEntry {
  return {
    model_name: name,
    litellm_params: { model, api_base: baseUrl, api_key: PLACEHOLDER_KEY },
    ...(settings.messagesPath === "passThrough"
      ? { model_info: { supported_endpoints: ["/v1/chat/completions", "/v1/messages", "/v1/responses"] } }
      : {}),
  };
}

/** Names that the bridge answers to. */
export function bridgeNames(servers: readonly Upstream[]): string[] {
  return [...servers.flatMap((server) => server.names), ...TIER_NAMES];
}
