import { valid } from "@renovatebot/pep440";
import type { InferenceServerPlan } from "../../inference-server";
import { endpointOf } from "../../planned";
import type { SimpleServerPlan } from "../../services/simple-server";
import { apiKeyVariable, type HarnessSettings, pairings, type Reviewer } from "../../settings";
import { believedVllm } from "../../supply";

/**
 * Seconds until a healthcheck counts a server as gone; `/v1/models` answers at once or not at all.
 */
const HEALTHCHECK_SECONDS = 10;

/** The plans of the servers that a harness can use. */
export type ServedHere = {
  readonly servers: readonly InferenceServerPlan[];
  readonly simpleServer: SimpleServerPlan;
};

/** One of our servers as a provider of the harness: a reviewer with the facts of its plan. */
export type ServedProvider =
  | {
      readonly name: string;
      readonly kind: "inference-server";
      /** It ends in `/v1`. */
      readonly baseUrl: string;
      readonly model: string;
      readonly thinking: boolean;
      /** Version of vLLM, where it is recorded. */
      readonly vllm: string | undefined;
    }
  | {
      readonly name: string;
      readonly kind: "ollama";
      readonly baseUrl: string;
      readonly model: string;
    };

/** The providers, in the order in which they are tried. */
export function providersOf(reviewers: readonly Reviewer[], served: ServedHere): ServedProvider[] {
  return reviewers.flatMap((each): ServedProvider[] => {
    const { name } = each;
    if (each.kind === "ollama") {
      const { simpleServer } = served;
      return simpleServer.mode === "host"
        ? [{ name, kind: each.kind, baseUrl: simpleServer.baseUrl, model: each.model }]
        : [];
    }
    const server = served.servers.find(({ key }) => key === each.server);
    if (server === undefined) return [];
    const { servedModelName: model, imageRecord } = server;
    const facts = { model, thinking: server.model.thinking, vllm: believedVllm(imageRecord) };
    return [{ name, kind: each.kind, baseUrl: endpointOf(server.reach).url, ...facts }];
  });
}

/**
 * The harness's providers profile. Its reader goes line by line and keeps everything after `=`: so
 * comments have lines of their own, pairings are dotted keys, and no value holds a double quote or
 * a backslash (`harnessFaults` refuses them). A TOML library would not keep to that.
 */
export function providersProfile(
  harness: HarnessSettings,
  servers: readonly ServedProvider[],
): string {
  const names = servers.map(({ name }) => name);
  const pairs = pairings(harness, names);
  return [
    "# Made by local-serving from `harness` in the stack file: change it there.",
    "",
    "[copyright]",
    pair("company", harness.company),
    "",
    "[defaults]",
    ...pairs.map(({ subject, peer }) => pair(`peer_for.${subject}`, peer)),
    ...pairs
      .filter(({ fallbacks }) => fallbacks.length > 0)
      .map(({ subject, fallbacks }) => pair(`fallback_chain.${subject}`, fallbacks)),
    ...servers.flatMap((server) => [
      "",
      `[providers.${server.name}]`,
      ...provider(harness, server),
    ]),
    "",
  ].join("\n");
}

function provider(harness: HarnessSettings, server: ServedProvider): string[] {
  const timeout = pair("timeout_sec", harness.timeoutSeconds);
  const evaluator = harness.conformanceCommands[server.name];
  const conformance = evaluator === undefined ? [] : [pair("conformance_command", evaluator)];
  if (server.kind === "ollama")
    return [
      pair("type", "ollama"),
      pair("host", new URL(server.baseUrl).host),
      pair("model", server.model),
      ...conformance,
      timeout,
      pair("healthcheck", curl([`${server.baseUrl}/api/version`])),
    ];
  const key = apiKeyVariable(harness);
  const bearer = key === undefined ? [] : ["--oauth2-bearer", `$${key}`];
  const { vllm } = server;
  return [
    pair("type", "openai-compatible"),
    pair("base_url", server.baseUrl),
    ...(key === undefined ? [] : [pair("api_key_env", key)]),
    pair("model", server.model),
    pair("max_tokens", harness.maxTokens),
    ...(server.thinking && harness.disableThinking ? [pair("disable_thinking", true)] : []),
    ...conformance,
    timeout,
    pair("healthcheck", curl([...bearer, `${server.baseUrl}/models`])),
    // Recorded with the provider's fingerprint: another engine is another reviewer.
    ...(vllm === undefined || valid(vllm) === null ? [] : [pair("version", `vllm ${vllm}`)]),
  ];
}

const curl = (words: readonly string[]): string =>
  ["curl", "-sf", "--max-time", String(HEALTHCHECK_SECONDS), ...words].join(" ");

/** One line. TOML writes these values as JSON does, but lists have a space after each comma. */
function pair(key: string, value: string | number | boolean | readonly string[]): string {
  const text = Array.isArray(value)
    ? `[${value.map((item) => JSON.stringify(item)).join(", ")}]`
    : JSON.stringify(value);
  return `${key} = ${text}`;
}
