import type { Decided, UnderWay } from "@local-serving/machines/update/record";
import { LARGEST_SHORTFALL } from "../verify/probes/kvCache";
import type { WaitedOn } from "../wait/waitForServer";
import type { NamedResult } from "./parts";

/** How the engine ended. */
export interface EngineEnd {
  readonly code: number;
  /** Whether it began to change anything. */
  readonly touched: boolean;
}

/** What is known of an update once it was applied. */
export interface UpdateSeen {
  readonly engine: EngineEnd;
  /** What was waited for, each with its part. */
  readonly waited: readonly { readonly part: string; readonly result: WaitedOn }[];
  /** Probes that passed before. */
  readonly passed: readonly string[];
  /** What such a probe counted before, where the update should leave it as it is. */
  readonly figures?: UnderWay["figures"];
  readonly after: readonly NamedResult[];
}

/** What is made of an update. */
export type Decision =
  /** The engine refused it, and nothing was changed. */
  | { readonly kind: "refused"; readonly code: number }
  /** It stays; `failed` are probes that failed and don't decide. */
  | { readonly kind: "stays"; readonly failed: readonly NamedResult[] }
  | { readonly kind: "back"; readonly why: Omit<Decided, "kept"> };

/**
 * Decides whether an update stays. It goes back if the engine failed after it touched anything, if
 * something died or was not ready in time, or if a probe fails that passed before. Pure.
 */
export function decide({ engine, waited, passed, figures = {}, after }: UpdateSeen): Decision {
  if (engine.code !== 0 && !engine.touched) return { kind: "refused", code: engine.code };
  if (engine.code !== 0)
    return back("the engine", `it ended with exit code ${engine.code} half way`);
  const late = waited.find(({ result }) => result.outcome !== "ready");
  if (late !== undefined) {
    const { reason, cause } = late.result;
    return back(`the start of ${late.part}`, [reason, cause].filter(Boolean).join(": "));
  }
  const failed = after.filter(({ status }) => status === "fail");
  const worse = failed.find(({ id }) => passed.includes(id));
  if (worse !== undefined) return back(worse.id, worse.detail);
  const less = after.find(({ id, figure = Infinity }) => figure < leastOf(figures[id]));
  if (less !== undefined) return back(less.id, `${less.detail}; it was ${figures[less.id]} before`);
  return { kind: "stays", failed };
}

/** The least of a figure that an update may leave: as much below it as a plan may be wrong. */
const leastOf = (before = 0): number => before * (1 - LARGEST_SHORTFALL);

const back = (probe: string, detail: string): Decision => ({
  kind: "back",
  why: { probe, detail },
});
