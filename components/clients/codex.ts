import { stringify } from "smol-toml";
import { writtenBy } from "./header";
import type { ClientTarget } from "./target";

/** Id of the provider in the file; `openai`, `ollama` and `lmstudio` are reserved by the program. */
const PROVIDER = "local-serving";

/** A stalled stream is cut after this; a long prefill sends nothing for minutes. */
const STREAM_IDLE_TIMEOUT_MS = 1_800_000;

/** A server that is down is known to the launcher; more tries only delay the news. */
const RETRIES = 2;

/** The profile `NAME.config.toml`, laid over the user's own configuration by `codex -p NAME`. */
export function codexConfig(target: ClientTarget, launcher: string): string {
  const config = {
    model: target.model,
    model_provider: PROVIDER,
    ...(target.window === undefined ? {} : { model_context_window: target.window }),
    web_search: "disabled",
    check_for_update_on_startup: false,
    analytics: { enabled: false },
    // The daemon would keep the first key that it saw.
    features: { daemon_auto_start: false, goals: false, plugins: false },
    agents: { enabled: false },
    model_providers: {
      [PROVIDER]: {
        name: "Local model server",
        base_url: `${target.origin}/v1`,
        env_key: target.key.variable,
        env_key_instructions: `Start Codex with ${launcher}, which sets it.`,
        wire_api: "responses",
        request_max_retries: RETRIES,
        stream_max_retries: RETRIES,
        stream_idle_timeout_ms: STREAM_IDLE_TIMEOUT_MS,
      },
    },
  };
  return `${writtenBy("Codex")}\n${stringify(config).trimEnd()}\n`;
}
