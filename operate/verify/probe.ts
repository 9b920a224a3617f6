import type { ServerTarget, Target } from "./targets";

export type Status = "pass" | "fail" | "skip";

/** What a probe found. */
export interface Verdict {
  readonly status: Status;
  /** What was seen, in a sentence, figures included. */
  readonly detail: string;
  /** What to change, named as it stands in the stack file; "" when there is nothing to do. */
  readonly fix: string;
  /** Why nothing else of this target can be judged, e.g. `its key is refused`: its other probes are not run. */
  readonly closes?: string;
}

/** A probe's verdict with the names that scripts look for. */
export interface ProbeResult extends Omit<Verdict, "closes"> {
  readonly name: string;
  /** What was probed: a container's name, or words such as `instance A`. */
  readonly target: string;
  readonly seconds: number;
}

/** One question to one kind of target. A probe judges by what an answer holds; a good status alone proves nothing. */
export interface Probe<T extends Target = Target> {
  /** Unique; stays the same, since scripts select by it. */
  readonly name: string;
  /** What is asked, for progress. */
  readonly about: string;
  /** Why this target isn't asked, e.g. since its model has no thinking mode. */
  readonly skip?: (target: T) => string | undefined;
  /** What to look at when the answer is no answer at all. */
  readonly fix: (target: T) => string;
  /** Throws `NoAnswer` or `BadAnswer` where nothing can be judged; both become a failure. */
  readonly run: (target: T) => Promise<Verdict>;
}

export type ServerProbe = Probe<ServerTarget>;

export const pass = (detail: string, fix = ""): Verdict => ({ status: "pass", detail, fix });
export const fail = (detail: string, fix = ""): Verdict => ({ status: "fail", detail, fix });
export const skip = (detail: string): Verdict => ({ status: "skip", detail, fix: "" });

/** An answer that came and is not what was asked for. Its message is a sentence for a person. */
export class BadAnswer extends Error {
  override readonly name = "BadAnswer";
}
