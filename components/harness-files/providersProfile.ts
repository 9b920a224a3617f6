import { valid } from "@renovatebot/pep440";
import type { HarnessSettings } from "../settings/harness";
import { apiKeyVariable, pairings } from "../settings/reviewers";
import type { OurServer } from "./ourServers";

/** Seconds after which a healthcheck counts a server as gone; `/v1/models` answers at once or not at all. */
const HEALTHCHECK_SECONDS = 10;

/**
 * The harness's providers profile. Its reader goes line by line and keeps everything behind `=`: so comments stand alone,
 * pairings are dotted keys, and no value holds a double quote or a backslash (`harnessFaults` refuses them). That is why
 * no TOML library writes it.
 */
export function providersProfile(harness: HarnessSettings, servers: readonly OurServer[]): string {
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
    ...servers.flatMap((server) => ["", `[providers.${server.name}]`, ...provider(harness, server)]),
    "",
  ].join("\n");
}

function provider(harness: HarnessSettings, server: OurServer): string[] {
  const timeout = pair("timeout_sec", harness.timeoutSeconds);
  const evaluator = harness.conformanceCommands[server.name];
  const conformance = evaluator === undefined ? [] : [pair("conformance_command", evaluator)];
  if (server.kind === "ollama") {
    return [
      pair("type", "ollama"),
      pair("host", new URL(server.baseUrl).host),
      pair("model", server.model),
      ...conformance,
      timeout,
      pair("healthcheck", curl([`${server.baseUrl}/api/version`])),
    ];
  }
  const key = apiKeyVariable(harness);
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
    pair(
      "healthcheck",
      curl([...(key === undefined ? [] : ["--oauth2-bearer", `$${key}`]), `${server.baseUrl}/models`]),
    ),
    // Recorded with the provider's fingerprint: another engine is another reviewer.
    ...(vllm === undefined || valid(vllm) === null ? [] : [pair("version", `vllm ${vllm}`)]),
  ];
}

function curl(words: readonly string[]): string {
  return ["curl", "-sf", "--max-time", String(HEALTHCHECK_SECONDS), ...words].join(" ");
}

/** One line. What these values can be is written in TOML as in JSON, lists with a space behind each comma. */
function pair(key: string, value: string | number | boolean | readonly string[]): string {
  const text = Array.isArray(value)
    ? `[${value.map((item) => JSON.stringify(item)).join(", ")}]`
    : JSON.stringify(value);
  return `${key} = ${text}`;
}
