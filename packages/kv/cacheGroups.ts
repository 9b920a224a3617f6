import type { DataOf } from "@local-serving/base/data/dataOf";
import type { cacheGroupsSchema } from "./schema";

/**
 * Block of non-hybrid models on a GB10 (fp8, bf16, MLA) and step of hybrid ones, in tokens: vLLM
 * 0.26 and 0.33.
 */
export const SMALLEST_BLOCK = 16;

/** What a group keeps of a request. */
export type CacheKind =
  | { readonly kind: "full" }
  | {
      readonly kind: "sliding";
      /** The most tokens of a request that a group keeps: the window plus the batches under way. */
      readonly mostTokens: number;
    }
  | {
      readonly kind: "linear";
      /** Blocks that a request holds in each group, whatever its length. */
      readonly blocks: number;
    };

/** Layers of one kind, split into groups that share a block table. */
export type CacheGroups = DataOf<typeof cacheGroupsSchema>;

/** A window that does not start at a block's first token touches one block more. */
const WINDOW_STARTS_INSIDE = 1;

/** Blocks that a request of so many tokens takes at most in each of these groups. */
export function groupBlocks(group: CacheGroups, tokens: number): number {
  switch (group.kind) {
    case "full":
      return Math.ceil(tokens / group.blockSize);
    case "sliding":
      return Math.ceil(Math.min(group.mostTokens, tokens) / group.blockSize) + WINDOW_STARTS_INSIDE;
    case "linear":
      return group.blocks;
  }
}

/** Caches with one block table, by the bytes of their pages. */
export interface Caches {
  /** What each of their groups is. It has 0 layers if other caches count them already. */
  readonly group: CacheKind & { readonly blockSize: number; readonly layers: number };
  readonly pages: readonly { readonly bytes: number; readonly layers: number }[];
  /**
   * Set if each cache is a state, not a row of tokens. vLLM splits states until they fit the block
   * that the others need.
   */
  readonly areStates?: boolean;
}

/**
 * The groups in which vLLM packs caches whose pages differ, and the bytes of one block of the pool.
 */
export interface PackedCaches {
  readonly groups: readonly CacheGroups[];
  readonly layersPerGroup: number;
  /** Those of the widest group. */
  readonly bytesPerBlock: number;
  /** Bytes of a block of the caches that keep every token. */
  readonly fullBytes: number;
}

/** Source: vLLM 0.30 `kv_cache_utils.py`, _get_packed_kv_cache_groups. */
export function packed(all: readonly Caches[]): PackedCaches {
  const caches = all.filter(({ pages }) => pages.some(({ layers }) => layers > 0));
  const patterns = caches.filter(isPattern);
  const ofSeveral = patterns.filter(({ pages }) => pages.length > 1);
  const repeats = leastPadding(patterns.map(most), Math.max(...ofSeveral.map(most)));
  const split = (each: Caches) => (isPattern(each) ? Math.ceil(most(each) / repeats) : 1);
  const widest = ({ pages }: Caches, groups: number) =>
    pages.reduce((sum, page) => sum + Math.ceil(page.layers / groups) * page.bytes, 0);
  const needed = Math.max(
    ...caches.map((each) => widest(each, each.areStates ? most(each) : split(each))),
  );
  const statesInBlock = ({ pages }: Caches) =>
    Math.max(1, Math.floor(needed / (pages[0]?.bytes ?? needed)));
  const made = caches.map((each) => {
    const groups = each.areStates
      ? Math.max(split(each), Math.ceil(most(each) / statesInBlock(each)))
      : split(each);
    return { bytes: widest(each, groups), group: { ...each.group, groups } };
  });
  return {
    groups: made.map(({ group }): CacheGroups => group),
    layersPerGroup: repeats,
    bytesPerBlock: Math.max(...made.map(({ bytes }) => bytes)),
    fullBytes: made.find(({ group }) => group.kind === "full")?.bytes ?? 0,
  };
}

const most = ({ pages }: Caches) => Math.max(...pages.map(({ layers }) => layers));

/** Whether there are as many pages of each size, so that they can be split evenly. */
const isPattern = ({ pages }: Caches): boolean =>
  pages.every((page) => page.layers === pages[0]?.layers);

/**
 * Returns the group size, at least `least`, that leaves the fewest places empty. If several do, it
 * is the largest.
 */
function leastPadding(counts: readonly number[], least: number): number {
  const empty = (size: number) =>
    counts.reduce((sum, count) => sum + ((size - (count % size)) % size), 0);
  const sizes = Array.from(
    { length: Math.max(...counts) - least + 1 },
    (_, index) => least + index,
  );
  return sizes.reduce((best, size) => (empty(size) <= empty(best) ? size : best), least);
}
