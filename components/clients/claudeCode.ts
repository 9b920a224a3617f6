import type { ClaudeCodeSettings } from "../settings/clients";
import type { ClientTarget } from "./target";

/**
 * Every variable that names a model, each with what asks for it. One that is not set asks for a hosted model's real name,
 * and a 404 then looks like a network failure.
 */
export const TIER_VARIABLES = [
  "ANTHROPIC_MODEL",
  "ANTHROPIC_DEFAULT_OPUS_MODEL",
  "ANTHROPIC_DEFAULT_SONNET_MODEL",
  "ANTHROPIC_DEFAULT_HAIKU_MODEL",
  "ANTHROPIC_DEFAULT_FABLE_MODEL",
  "ANTHROPIC_SMALL_FAST_MODEL",
] as const;

/** Output that its own compaction leaves room for, however large the output limit is (measured in 2.1.329). */
const COMPACTION_RESERVE_TOKENS = 20_000;

/** Milliseconds until the first byte; a long cold prefill takes longer than its default of 10 minutes. */
const FIRST_BYTE_TIMEOUT_MS = 1_800_000;

/** Variables of the `env` block of its settings, ours overlaid by the operator's, sorted. */
export function claudeEnvironment(
  target: ClientTarget,
  settings: ClaudeCodeSettings,
): Record<string, string> {
  const ours: Record<string, string> = {
    // The bare origin: it adds /v1/messages itself.
    ANTHROPIC_BASE_URL: target.origin,
    ...(target.key.placeholder === undefined ? {} : { ANTHROPIC_AUTH_TOKEN: target.key.placeholder }),
    ...Object.fromEntries(TIER_VARIABLES.map((name) => [name, target.model])),
    API_TIMEOUT_MS: String(FIRST_BYTE_TIMEOUT_MS),
    // A header that changes with every session would void the server's prefix cache.
    CLAUDE_CODE_ATTRIBUTION_HEADER: "0",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL: "1",
    ...(target.window === undefined
      ? {}
      : { CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(claudeWindow(target.window, settings.maxOutputTokens)) }),
    CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(settings.maxOutputTokens),
    DISABLE_AUTOUPDATER: "1",
  };
  return Object.fromEntries(
    Object.entries({ ...ours, ...settings.environment }).sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

/**
 * The window to claim, in tokens. It compacts so that 20,000 tokens of output still fit, but asks for all of its output
 * limit, and the server refuses what exceeds the window: the difference is taken off.
 */
export function claudeWindow(window: number, maxOutputTokens: number): number {
  return window - Math.max(0, maxOutputTokens - COMPACTION_RESERVE_TOKENS);
}

/** The whole settings file. */
export function claudeSettings(environment: Readonly<Record<string, string>>): string {
  // Auto mode asks the vendor's servers whether a command is safe, and stops where it gets no answer.
  const settings = { env: environment, permissions: { disableAutoMode: "disable" } };
  return `${JSON.stringify(settings, null, 2)}\n`;
}

/** Models that each tier asks for; one that the operator has emptied is "". */
export function claudeTiers(environment: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(TIER_VARIABLES.map((name) => [name, environment[name] ?? ""]));
}
