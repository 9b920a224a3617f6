import type { ProvidersProfile } from "./schema";

export type Pairings = ProvidersProfile["defaults"];

/**
 * How a provider would do as a reviewer: not reachable, reachable without producing a review, or
 * fine.
 */
export type ReviewerHealth = {
  readonly outcome: "unhealthy" | "no-review" | "healthy";
  readonly detail: string;
};

/** Who was tried as the reviewer of one subject, in order, and who is chosen. */
export interface ReviewerChain {
  readonly subject: string;
  readonly tried: readonly (ReviewerHealth & { readonly provider: string })[];
  /** `null` when no provider is left. */
  readonly chosen: string | null;
}

/**
 * Returns the peer, then the fallback chain: nobody twice, and never the subject itself. Without a
 * peer, nobody reviews.
 */
export function reviewersFor(subject: string, { peer_for, fallback_chain }: Pairings): string[] {
  if (!Object.hasOwn(peer_for, subject)) return [];
  const chain = Object.hasOwn(fallback_chain, subject) ? fallback_chain[subject] : undefined;
  return [...new Set([peer_for[subject] ?? "", ...(chain ?? [])])].filter(
    (name) => name !== subject,
  );
}

/**
 * Tries the reviewers of every subject that has a peer, as the harness does: the next one only when
 * the one before is unhealthy or produces no review. After the first healthy provider, nobody else
 * is tried.
 */
export function tryReviewers(
  pairings: Pairings,
  healthOf: (provider: string) => ReviewerHealth,
): ReviewerChain[] {
  return Object.keys(pairings.peer_for).map((subject) => {
    const all = reviewersFor(subject, pairings).map((provider) => ({
      provider,
      ...healthOf(provider),
    }));
    const first = all.findIndex(({ outcome }) => outcome === "healthy");
    const tried = first === -1 ? all : all.slice(0, first + 1);
    const chosen = all[first]?.provider ?? null;
    return { subject, tried, chosen };
  });
}
