/** How one provider's turn as a reviewer ended. */
export type Outcome =
  /** Its healthcheck failed; it was not asked. */
  | "unhealthy"
  /** It ran and produced no review that could be read. */
  | "no-review"
  /** It produced a verdict, whichever. */
  | "verdict";

/** A provider's turn that is over. */
export interface Turn {
  readonly provider: string;
  readonly outcome: Outcome;
}

/** What comes next in choosing a reviewer. */
export type NextReviewer =
  | { readonly kind: "ask"; readonly provider: string }
  | { readonly kind: "decided"; readonly provider: string }
  | { readonly kind: "exhausted" };

/** The default pairings of a profile. */
export interface Pairings {
  readonly peer_for: Readonly<Record<string, string>>;
  readonly fallback_chain: Readonly<Record<string, readonly string[]>>;
}

/**
 * Who may review a subject, in the order in which they are asked: the provider that was named, else the subject's
 * peer, then its fallback chain. Nobody twice, and never the subject itself. Empty when there is no peer.
 */
export function reviewersFor(subject: string, pairings: Pairings, named?: string): string[] {
  const first = named ?? entry(pairings.peer_for, subject);
  if (first === undefined) return [];
  const order = [first, ...(entry(pairings.fallback_chain, subject) ?? [])];
  return [...new Set(order)].filter((provider) => provider !== subject);
}

/** Who is asked next after the turns so far. A verdict ends it: the chain is never consulted after one. */
export function nextReviewer(order: readonly string[], turns: readonly Turn[]): NextReviewer {
  const decided = turns.find(({ outcome }) => outcome === "verdict");
  if (decided !== undefined) return { kind: "decided", provider: decided.provider };
  const asked = new Set(turns.map(({ provider }) => provider));
  const provider = order.find((candidate) => !asked.has(candidate));
  return provider === undefined ? { kind: "exhausted" } : { kind: "ask", provider };
}

function entry<T>(map: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}
