import { quoted } from "@local-serving/base/faults/shellWords";
import { stringify } from "smol-toml";
import { strictObject } from "zod";
import { hostPath, textMatching, usual } from "../planned/fields";
import { clientKind, exported, PROVIDER, pathWord, reach, writtenBy } from "./kind";

/** A stalled stream is cut after this; a long prefill sends nothing for minutes. */
const STREAM_IDLE_TIMEOUT_MS = 1_800_000;

/** The launcher has already checked the server, so more retries only delay the error. */
const RETRIES = 2;

/**
 * Its file is the profile `NAME.config.toml`, laid over the user's own configuration by `codex -p
 * NAME`.
 */
export const codex = clientKind({
  key: "codex",
  name: "codex",
  title: "Codex",
  settings: strictObject({
    ...reach("native"),
    home: usual("~/.codex", hostPath()).describe(
      "Its CODEX_HOME. One file of ours is added there; your own files stay as they are.",
    ),
    profile: usual(
      "local-serving",
      textMatching(/^[a-z][a-z0-9-]*$/, "Expected a name of lower-case letters, digits and dashes"),
    ).describe("Name of the file (`NAME.config.toml`) and of the profile (`codex -p NAME`)."),
  }).describe("Codex CLI, a Responses-style coding agent."),
  surface: "responses",
  coding: true,
  launcher: "local-codex",
  program: { name: "codex", npm: "@openai/codex" },
  role: "codex-config",
  file({ target, settings, launcher, place }) {
    const home = place(settings.home);
    const config = {
      model: target.model,
      model_provider: PROVIDER,
      model_context_window: target.window,
      web_search: "disabled",
      check_for_update_on_startup: false,
      analytics: { enabled: false },
      // The daemon would keep the first key that it saw.
      features: { daemon_auto_start: false, goals: false, plugins: false },
      agents: { enabled: false },
      model_providers: {
        [PROVIDER]: {
          name: "Local model server",
          base_url: target.baseUrl,
          env_key: target.key.variable,
          env_key_instructions: `Start Codex with ${launcher}, which sets it.`,
          wire_api: "responses",
          request_max_retries: RETRIES,
          stream_max_retries: RETRIES,
          stream_idle_timeout_ms: STREAM_IDLE_TIMEOUT_MS,
        },
      },
    };
    return {
      path: `${home}/${settings.profile}.config.toml`,
      text: `${writtenBy("Codex")}\n${stringify(config).trimEnd()}\n`,
      environment: exported({ CODEX_HOME: pathWord(home) }),
      words: ["--profile", quoted(settings.profile)],
    };
  },
});
