import type { Fault, FaultMaker } from "@local-serving/base/faults/fault";
import { isRecord } from "@local-serving/base/faults/json";
import { nearestKey } from "@local-serving/base/faults/quoting";
import { valueAt } from "@local-serving/base/faults/schemaFaults";
import { distance } from "fastest-levenshtein";

/** Keys that the specification refuses by name, with the reason that a reader needs to go on. */
const REFUSED_KEYS = {
  test: "an unattended contract must not carry settings that do nothing, and nothing reads this one. Remove it; `verification.coverage` says what tests must reach.",
  "verification.conformance.required":
    "whether conformance is required is derived from the verification mapping (a requirement of kind runtime_conformance). Remove it.",
  "verification.conformance.app":
    "the app under test is declared once, for conformance and visual together. Move this block to `verification.app`.",
  "verification.visual.required_when_ui_in_scope":
    "whether the visual check is required is derived from the verification mapping (a requirement of kind visual). Remove it.",
};

/**
 * Words whose presence in an unknown routing key means that it would define something only the
 * user's registry may.
 */
const AUTHORITY = {
  "a profile": /^(profiles?|models?|backend|providers?|roles?)$/,
  "a credential": /^(credentials?|key|apikey|token|secret|password|auth|login)$/,
  "an endpoint": /^(endpoints?|url|hosts?|port|address|base|server)$/,
  "a protocol": /^(protocols?|wire|api|surface|dialect)$/,
  "a capability": /^(capability|capabilities|tiers?|tools?)$/,
};

/** Words of recovery settings that are the registry's policy. */
const RECOVERY_POLICY = /^(probes?|cadence|interval|healthy?|thresholds?)$/;

/** Letters by which a mistyped key may differ from a known one and still be taken for it. */
const TYPO = 2;

const ROUTING_LEVELS = [
  {
    path: ["routing"],
    known: ["enabled", "allowed_profiles", "default_task_route", "tier2", "recovery"],
  },
  { path: ["routing", "tier2"], known: ["delegation_enabled"] },
  { path: ["routing", "recovery"], known: ["wake_enabled", "auto_failback_enabled"] },
] as const;

/**
 * Faults for every key that is refused by name, each with its reason. The values of such keys are
 * never shown.
 */
export function refusedKeyFaults(config: unknown, at: FaultMaker): Fault[] {
  const named = Object.entries(REFUSED_KEYS).flatMap(([key, reason]) => {
    const path = key.split(".");
    return valueAt(config, path) === undefined
      ? []
      : [at.error(path, "refused_key", `\`${key}\` is refused: ${reason}`, "key")];
  });
  return [
    ...named,
    ...ROUTING_LEVELS.flatMap(({ path, known }) => routingFaults(config, path, known, at)),
  ];
}

function routingFaults(
  config: unknown,
  path: readonly string[],
  known: readonly string[],
  at: FaultMaker,
): Fault[] {
  const level = valueAt(config, path);
  if (!isRecord(level)) return [];
  return Object.keys(level).flatMap((key) => {
    const near = nearestKey(key, known);
    if (known.includes(key) || (near !== undefined && distance(key, near) <= TYPO)) return [];
    const words = key
      .replace(/([a-z])([A-Z])/g, "$1_$2")
      .toLowerCase()
      .split(/[^a-z]+/);
    const reason = routingReason(words, path);
    if (reason === undefined) return [];
    const here = [...path, key];
    return [at.error(here, "refused_key", `\`${here.join(".")}\` is refused: ${reason}`, "key")];
  });
}

function routingReason(words: readonly string[], path: readonly string[]): string | undefined {
  if (path.at(-1) === "recovery" && words.some((word) => RECOVERY_POLICY.test(word)))
    return "probe cadence and health thresholds are policy of the user's routing registry.";
  for (const [what, names] of Object.entries(AUTHORITY)) {
    if (words.some((word) => names.test(word)))
      return `a repository may only narrow what the user's routing registry permits, it can't define ${what}.`;
  }
  return undefined;
}
