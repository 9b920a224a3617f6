import type { CacheGroups, CacheKind } from "./cacheGroups";

/** Caches with one block table, by the bytes of their pages. */
export interface Caches {
  /** What each of their groups is. What belongs to layers that other caches count has 0 layers. */
  readonly group: CacheKind & { readonly blockSize: number; readonly layers: number };
  readonly pages: readonly { readonly bytes: number; readonly layers: number }[];
  /** Each is a state and no row of tokens, so vLLM splits them until they fit the block that the others need. */
  readonly areStates?: boolean;
}

/** The groups in which vLLM packs caches whose pages differ, and the bytes of one block of the pool. */
export type PackedCaches = Readonly<ReturnType<typeof packed>>;

/** Source: vLLM 0.30 `kv_cache_utils.py`, _get_packed_kv_cache_groups. */
export function packed(all: readonly Caches[]) {
  const caches = all.filter(({ pages }) => pages.some(({ layers }) => layers > 0));
  const patterns = caches.filter(isPattern);
  const ofSeveral = patterns.filter(({ pages }) => pages.length > 1);
  const repeats = leastPadding(patterns.map(most), Math.max(...ofSeveral.map(most)));
  const split = (each: Caches) => (isPattern(each) ? Math.ceil(most(each) / repeats) : 1);
  const widest = ({ pages }: Caches, groups: number) =>
    pages.reduce((sum, page) => sum + Math.ceil(page.layers / groups) * page.bytes, 0);
  const needed = Math.max(...caches.map((each) => widest(each, each.areStates ? most(each) : split(each))));
  const statesInBlock = ({ pages }: Caches) => Math.max(1, Math.floor(needed / (pages[0]?.bytes ?? needed)));
  const made = caches.map((each) => {
    const groups = each.areStates ? Math.max(split(each), Math.ceil(most(each) / statesInBlock(each))) : split(each);
    return { bytes: widest(each, groups), group: { ...each.group, groups } };
  });
  return {
    groups: made.map(({ group }): CacheGroups => group),
    layersPerGroup: repeats,
    /** Those of the widest group. */
    bytesPerBlock: Math.max(...made.map(({ bytes }) => bytes)),
    /** Bytes of a block of the caches that keep every token. */
    fullBytes: made.find(({ group }) => group.kind === "full")?.bytes ?? 0,
  };
}

const most = ({ pages }: Caches) => Math.max(...pages.map(({ layers }) => layers));

/** Whether there are as many pages of each size, so that they can be split evenly. */
const isPattern = ({ pages }: Caches): boolean => pages.every((page) => page.layers === pages[0]?.layers);

/** The size of groups, at least `least`, for which the fewest places stay empty; of several the largest. */
function leastPadding(counts: readonly number[], least: number): number {
  const empty = (size: number) => counts.reduce((sum, count) => sum + ((size - (count % size)) % size), 0);
  const sizes = Array.from({ length: Math.max(...counts) - least + 1 }, (_, index) => least + index);
  return sizes.reduce((best, size) => (empty(size) <= empty(best) ? size : best), least);
}
