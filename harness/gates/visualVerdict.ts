/** What a UI check's result says of itself. */
export interface VisualResult {
  readonly passed: boolean;
  /** Whether it ran in full: mode `full`, nothing skipped. */
  readonly complete: boolean;
  readonly gaps: readonly string[];
}

/** Mode of a result that ran everything, as the public harness writes it. */
const FULL = "full";

/** Verdicts of single criteria that no policy turns into a pass. */
const RED = ["fail", "unreached"];

/**
 * Judges a visual artifact: `{"passed": bool, "mode": "full"|..., "skipped": [...], "criteria": [{"verdict": ...}]}`.
 * @param skipIsFailure whether a result that is degraded, skipped or without a mode fails even if it says passed
 * @returns why the gate fails, one sentence each; none means that it passes
 */
export function visualFailures(text: string, skipIsFailure: boolean): string[] {
  let result: unknown;
  try {
    result = JSON.parse(text);
  } catch {
    return ["the result is not JSON"];
  }
  if (typeof result !== "object" || result === null || Array.isArray(result)) {
    return ["the result isn't a JSON object"];
  }
  const read = readResult(result as Record<string, unknown>);
  if ("fault" in read) return [read.fault];
  const failures: string[] = [];
  if (!read.passed) failures.push("the result says that the check did not pass");
  if (!read.complete && skipIsFailure) {
    failures.push(`the check did not run in full (${read.gaps.join("; ")}), and skip_is_failure holds`);
  }
  return failures;
}

function readResult(result: Record<string, unknown>): VisualResult | { fault: string } {
  if (typeof result.passed !== "boolean") return { fault: "the result has no `passed` of true or false" };
  const criteria = Array.isArray(result.criteria) ? result.criteria : [];
  const verdicts = criteria.map((criterion: unknown) =>
    typeof criterion === "object" && criterion !== null && "verdict" in criterion
      ? criterion.verdict
      : undefined,
  );
  const gaps = [...modeGaps(result), ...skipGaps(result.skipped)];
  if (verdicts.includes("skip")) gaps.push("criteria were skipped");
  const red = verdicts.some((verdict) => RED.includes(String(verdict)));
  if (result.passed && red) return { fault: "the result says passed although one of its criteria did not" };
  return { passed: result.passed, complete: gaps.length === 0, gaps };
}

function modeGaps(result: Record<string, unknown>): string[] {
  const gaps = result.degraded === true ? ["it says degraded"] : [];
  if (result.status === "skipped" || result.status === "degraded")
    gaps.push(`its status is ${result.status}`);
  if (typeof result.mode !== "string" || result.mode === "") return [...gaps, "it says no mode"];
  return result.mode === FULL ? gaps : [...gaps, `its mode is not \`${FULL}\``];
}

function skipGaps(skipped: unknown): string[] {
  const nothing =
    skipped === undefined ||
    skipped === null ||
    skipped === false ||
    skipped === 0 ||
    (Array.isArray(skipped) && skipped.length === 0);
  return nothing ? [] : ["something was skipped"];
}
