import type { Decided } from "../../machines/update/record";
import type { WaitedOn } from "../wait/waitForServer";
import type { NamedResult } from "./parts";

/** How the engine ended. */
export interface EngineEnd {
  readonly code: number;
  /** Whether it began to change anything. */
  readonly touched: boolean;
}

/** What is known of an update once it was applied. */
export interface Seen {
  readonly engine: EngineEnd;
  /** What was waited for, each with its part. */
  readonly waited: readonly { readonly part: string; readonly result: WaitedOn }[];
  /** Probes that passed before. */
  readonly passed: readonly string[];
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
export function decide({ engine, waited, passed, after }: Seen): Decision {
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
  return { kind: "stays", failed };
}

const back = (probe: string, detail: string): Decision => ({
  kind: "back",
  why: { probe, detail },
});
