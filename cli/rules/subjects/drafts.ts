import type { InferenceServerSettings } from "../../../components/settings";
import type { LogReading } from "../../sees/log/scanLog";
import { STARTED_WITH, sign } from "../../sees/log/sign";

/** The engine's own picture of its drafts, where it begins and where it dies. */
const CONFIGURED = sign(
  "SpeculativeConfig(",
  /SpeculativeConfig\(method='?([\w-]+).{0,300}?num_spec_tokens=(\d+)/,
);

/** Drafts that were made or were to be checked when the log was written. */
const AT_WORK = sign(
  ["SpecDecoding metrics", "scheduled_spec_decode_tokens={"],
  /SpecDecoding metrics|scheduled_spec_decode_tokens=\{['\w]/,
);

/** The drafts of a server, as its log tells them, else its settings; `undefined` where it had none. */
export function draftsOf(
  { hits }: LogReading,
  settings: InferenceServerSettings | undefined,
): string | undefined {
  const [configured, configuredCount = ""] = hits.get(CONFIGURED)?.groups ?? [];
  if (configured) return shown(configured, configuredCount);
  const started = /'speculative_config': (\{[^}]*\})/.exec(hits.get(STARTED_WITH)?.groups[0] ?? "");
  if (started !== null) {
    const [, method = ""] = /'method': '([\w-]+)'/.exec(started[0]) ?? [];
    const [, count = ""] = /'num_speculative_tokens': (\d+)/.exec(started[0]) ?? [];
    return shown(method, count);
  }
  const { method, numSpeculativeTokens } = settings?.speculative ?? {};
  if (method !== undefined) return shown(method, String(numSpeculativeTokens));
  return hits.has(AT_WORK) ? "as its log shows" : undefined;
}

const shown = (method: string, count: string): string =>
  [method || "a draft model", ...(count === "" ? [] : [`${count} tokens a step`])].join(", ");
