import type { Exchange, Seen } from "./seen";

/** What explains failures of a server, and what to do about it. */
export interface Cause {
  /** What was probed, as results name it. */
  readonly target: string;
  /** Stays the same, since scripts select by it. */
  readonly id: string;
  readonly cause: string;
  readonly advice: string;
  /** The failed probes that it explains, in the order of the run. */
  readonly probes: readonly string[];
}

/** A cause that was found, with all probes that it would explain. */
export type CauseFinding = Pick<Cause, "cause" | "advice" | "probes">;

/** Finds one kind of cause in what was seen; `failed` has the probes that nothing explains yet. */
export interface KnownCause {
  readonly id: string;
  readonly find: (seen: Seen) => CauseFinding | undefined;
}

/** The failed probes with a request of which this is true. */
export const failedWith = (
  { failed, exchanges }: Pick<Seen, "failed" | "exchanges">,
  is: (exchange: Exchange) => boolean,
): string[] => failed.filter((name) => exchanges.some((each) => each.probe === name && is(each)));

/** Requests that were asked after the probes, to look closer. */
export const followUps = ({ exchanges }: Seen, path: string): Exchange[] =>
  exchanges.filter((each) => each.probe === "" && each.path === path);
