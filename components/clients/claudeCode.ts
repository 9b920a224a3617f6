import * as z from "zod";
import { strictObject } from "zod";
import { variableName } from "../planned/fields";
import { clientKind, exported, jsonFile, maxOutputTokens, pathWord, reach } from "./kind";

/**
 * Every variable that names a model. One that is not set asks for a hosted model's real name, and a
 * 404 then looks like a network failure.
 */
const TIER_VARIABLES = [
  "ANTHROPIC_MODEL",
  "ANTHROPIC_DEFAULT_OPUS_MODEL",
  "ANTHROPIC_DEFAULT_SONNET_MODEL",
  "ANTHROPIC_DEFAULT_HAIKU_MODEL",
  "ANTHROPIC_DEFAULT_FABLE_MODEL",
  "ANTHROPIC_SMALL_FAST_MODEL",
] as const;

/** The variable with its base URL: a bare origin, to which it adds /v1/messages itself. */
const BASE_URL_VARIABLE = "ANTHROPIC_BASE_URL";

const KEY_VARIABLES = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"];

/** The specification's figure for the messages-style client. */
const OUTPUT_TOKENS = 32_000;

/**
 * Output that its own compaction leaves room for, however large the output limit is (measured in
 * 2.1.329).
 */
const COMPACTION_RESERVE_TOKENS = 20_000;

/**
 * Milliseconds until the first byte; a long cold prefill takes longer than its default of 10
 * minutes.
 */
const FIRST_BYTE_TIMEOUT_MS = 1_800_000;

/**
 * Its own ten take over three minutes, in which it shows nothing of why a server did not start. The
 * bridge doesn't pass on that a retry is useless.
 */
const RETRIES_OF_A_START = 2;

/**
 * It puts no system element behind the user turn then (seen in 2.1.329 and 2.1.332). Without it a
 * server that refuses such an element answers 400; 2.1.197 doesn't know the variable and sends the
 * element in any case.
 */
const NO_SYSTEM_INSIDE = "-mid_conv_system";

export const claudeCode = clientKind({
  key: "claudeCode",
  name: "claude-code",
  title: "Claude Code",
  settings: strictObject({
    ...reach("bridge"),
    maxOutputTokens: maxOutputTokens(OUTPUT_TOKENS),
    environment: z
      .record(variableName(), z.string().describe("Value of the variable, as text."))
      .refine(
        (variables) => KEY_VARIABLES.every((name) => variables[name] === undefined),
        "Don't put a key into a settings file: the launcher sets it",
      )
      .default({})
      .describe("Further variables for its `env` block, or other values for ours. No secrets."),
  }).describe(
    "Claude Code. Use the bridge until the server has passed the native-path test, then `via: native`.",
  ),
  surface: "messages",
  coding: true,
  launcher: "local-claude",
  program: { name: "claude", npm: "@anthropic-ai/claude-code" },
  keyInFile: true,
  role: "claude-code-settings",
  file({ target, settings, folder }) {
    const { placeholder, variable } = target.key;
    const environment: Record<string, string | undefined> = {
      [BASE_URL_VARIABLE]: target.origin,
      ANTHROPIC_AUTH_TOKEN: placeholder,
      ...Object.fromEntries(TIER_VARIABLES.map((name) => [name, target.model])),
      API_TIMEOUT_MS: String(FIRST_BYTE_TIMEOUT_MS + target.startMs),
      // A header that changes with every session would void the server's prefix cache.
      CLAUDE_CODE_ATTRIBUTION_HEADER: "0",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL: "1",
      CLAUDE_CODE_MAX_CONTEXT_TOKENS:
        target.window === undefined
          ? undefined
          : String(claudeWindow(target.window, settings.maxOutputTokens)),
      CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(settings.maxOutputTokens),
      CLAUDE_CODE_MODEL_CAPABILITIES: target.via === "native" ? NO_SYSTEM_INSIDE : undefined,
      CLAUDE_CODE_MAX_RETRIES: target.startMs === 0 ? undefined : String(RETRIES_OF_A_START),
      // For models that it knows (2.1.330), it counts down tokens that no window of ours has. Where
      // vLLM merges its system elements into the first one, no prefix is found behind that.
      CLAUDE_CODE_TOTAL_TOKENS_REMINDER: "off",
      DISABLE_AUTOUPDATER: "1",
      ...settings.environment,
    };
    const env = Object.fromEntries(
      Object.entries(environment).sort(([a], [b]) => (a < b ? -1 : 1)),
    );
    const path = `${folder}/claude-code.settings.json`;
    return {
      path,
      // Auto mode asks the vendor's servers whether a command is safe, and stops when they don't
      // answer.
      text: jsonFile({ env, permissions: { disableAutoMode: "disable" } }),
      environment: [
        "# Both keys would be sent, and this one belongs to somebody else's server.",
        "unset ANTHROPIC_API_KEY",
        ...(placeholder === undefined ? exported({ ANTHROPIC_AUTH_TOKEN: `$${variable}` }) : []),
      ],
      words: ["--settings", pathWord(path)],
      baseUrl: env[BASE_URL_VARIABLE] ?? "",
      // A variable that the operator has emptied is "".
      tiers: {
        ...Object.fromEntries(TIER_VARIABLES.map((name) => [name, env[name] ?? ""])),
        ...furtherModels(settings.environment, target.names),
      },
    };
  },
});

/** Variables of Claude Code's that name a model, such as CLAUDE_CODE_SUBAGENT_MODEL. */
const MODEL_VARIABLE = /^(?:ANTHROPIC|CLAUDE)_\w*MODEL(?:_OPTION)?$/;

/**
 * What further variables of the operator's ask for by a name with a slash, which is refused. A
 * variable of another program's may name a model of somebody else's.
 */
const furtherModels = (
  environment: Readonly<Record<string, string>>,
  names: readonly string[],
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment).filter(
      ([name, model]) =>
        model.includes("/") &&
        (MODEL_VARIABLE.test(name) || (/MODEL$/.test(name) && names.includes(model))),
    ),
  );

/**
 * What others need to know of the messages-style client: its settings' key, its launcher, and the
 * variables that it reads.
 */
export const MESSAGES_CLIENT = {
  key: claudeCode.key,
  launcher: claudeCode.launcher,
  baseUrlVariable: BASE_URL_VARIABLE,
  modelVariables: TIER_VARIABLES,
  anyModelVariable: MODEL_VARIABLE,
} as const;

/**
 * The window to claim, in tokens. The client compacts so that 20,000 tokens of output still fit,
 * but asks for its whole output limit. The server refuses what exceeds the window, so the
 * difference is subtracted.
 */
export const claudeWindow = (window: number, maxOutputTokens: number): number =>
  window - Math.max(0, maxOutputTokens - COMPACTION_RESERVE_TOKENS);
