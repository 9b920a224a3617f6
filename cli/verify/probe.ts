import type { ProbeSeen } from "../rules/picture";
import type { MiscountedPart } from "../rules/serverSeen";

export interface Verdict {
  readonly status: ProbeSeen["status"];
  /** What was seen, in a sentence, figures included. */
  readonly detail: string;
  /**
   * What to change, by its name in the stack file. Left out, a failure has the fix of its probe.
   */
  readonly fix?: string | undefined;
  /** What it counted, which an update may not halve; such as requests that the KV cache holds. */
  readonly figure?: number;
  /** Why the other probes of this target can't run, e.g. `the bridge refuses the key`. */
  readonly closes?: string;
  /** Whether an answer was cut off, so that nothing is known until it is asked for more tokens. */
  readonly cut?: boolean;
  /** Parts of its requests that did not reach the model once. */
  readonly parts?: readonly Omit<MiscountedPart, "probe">[];
}

/** A probe's verdict with the names that scripts look for. */
export interface ProbeResult extends ProbeSeen, Pick<Verdict, "figure"> {
  readonly target: string;
  readonly seconds: number;
}

/**
 * One question to one kind of target. A probe judges what an answer holds: a good status alone
 * proves nothing.
 */
export interface Probe<Target> {
  /** Unique; stays the same, since scripts select by it. */
  readonly name: string;
  /** The question, for progress. */
  readonly about: string;
  /** Why this target isn't asked, e.g. since its model has no thinking mode. */
  readonly skip?: (target: Target) => string | undefined;
  /** What to look at when a failure names nothing better. */
  readonly fix: (target: Target) => string;
  /** Throws `NoAnswer` or `BadAnswer` when there is nothing to judge; both become a failure. */
  readonly run: (target: Target) => Promise<Verdict>;
}

export const pass = (detail: string, fix = ""): Verdict => ({ status: "pass", detail, fix });
/** Without a fix, the probe's own fix is shown. */
export const fail = (detail: string, fix?: string): Verdict => ({ status: "fail", detail, fix });
export const skip = (detail: string): Verdict => ({ status: "skip", detail, fix: "" });

/** A pass without faults; else all of them in one failure. */
export const passUnless = (faults: readonly string[], detail: string, fix?: string): Verdict =>
  faults.length === 0 ? pass(detail) : fail(faults.join("; "), fix);

/** Several verdicts as one: the worst status, and what the verdicts of that status say. */
export function worst(verdicts: readonly Verdict[]): Verdict {
  const status = (["fail", "pass", "skip"] as const).find((each) =>
    verdicts.some((one) => one.status === each),
  );
  const said = verdicts.filter((verdict) => verdict.status === status);
  const detail = said.map((verdict) => verdict.detail).join("; ");
  return { status: status ?? "skip", detail, fix: said[0]?.fix };
}

/** The text without secrets, whoever put them there. */
export const withoutSecrets = (text: string, secrets: readonly string[]): string =>
  secrets
    .filter((secret) => secret.length > 0)
    .reduce((rest, secret) => rest.replaceAll(secret, "<key>"), text);
