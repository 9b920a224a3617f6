import { engineRules, SMALLEST_BLOCK } from "./engineRules";
import type { ResolvedKvEngineSettings } from "./engineSettings";
import { bytesPerToken, type KvDtype, resolveKvDtype } from "./kvDtype";
import type { ModelShape } from "./modelShape";
import { stateBytes } from "./recurrentState";

/** Layers of one kind, split into groups that share a block table. */
type CacheGroups =
  | { readonly kind: "full"; readonly layers: number; readonly groups: number }
  | {
      readonly kind: "sliding";
      readonly layers: number;
      readonly groups: number;
      /** Tokens of a request that a group keeps at most: the window and the batches under way. */
      readonly mostTokens: number;
    }
  | {
      readonly kind: "linear";
      readonly layers: number;
      readonly groups: number;
      /** Blocks that a request holds in each group, whatever its length. */
      readonly blocks: number;
    };

/** How the engine cuts the cache into blocks; it depends on model and engine, not on the memory there is. */
export interface CacheLayout {
  readonly blockSize: number;
  /** Bytes that one layer needs for one block. */
  readonly pageBytes: number;
  /** Bytes of one block of the pool: a page for each layer of a group. */
  readonly bytesPerBlock: number;
  readonly layersPerGroup: number;
  readonly groups: readonly CacheGroups[];
  /** Draft layers, counted among the full ones. */
  readonly draftLayers: number;
  /** Places in the groups that no layer fills. */
  readonly paddingLayers: number;
  /** Share by which a linear layer's state is padded to fill a page, 0 where there is none. */
  readonly padding: number;
  readonly kvCacheDtype: KvDtype;
  /** Bytes that the attention layers of kind full cache of one token. */
  readonly bytesPerToken: number;
}

/** Batches that are scheduled and not yet settled, with vLLM's asynchronous scheduling (its default). */
const BATCHES_UNDER_WAY = 2;

/** A draft module that the config doesn't describe is taken to be one layer (vLLM's default for MTP modules). */
const ASSUMED_DRAFT_LAYERS = 1;

/** Groups have the size of the smaller kind, unless the larger is less than this many times as large (vLLM). */
const LARGER_KIND_BELOW = 1.5;

/** The layout of a model's cache. Source: vLLM 0.28 `platforms/interface.py` and `kv_cache_utils.py`. */
export function cacheLayout(model: ModelShape, engine: ResolvedKvEngineSettings): CacheLayout {
  const dtype = resolveKvDtype(model.ignoresKvDtype ? "auto" : engine.kvCacheDtype, model.kvCacheDtype);
  const tokenBytes = bytesPerToken(model.attention, dtype, engine.tensorParallelSize);
  const rules = engineRules(model, engine);
  const state = stateOf(model, engine);
  const blockSize =
    state === 0
      ? SMALLEST_BLOCK
      : rules.blockMultiple * Math.ceil(state / (rules.blockMultiple * tokenBytes));
  const pageBytes = blockSize * tokenBytes;

  const drafts = engine.draftTokens === 0 ? 0 : (model.draftLayers ?? ASSUMED_DRAFT_LAYERS);
  const { sliding, linear } = model.layers;
  const full = model.layers.full + drafts;
  const kinds = [full, sliding, linear].filter((layers) => layers > 0);
  const most = Math.max(...kinds);
  const least = Math.min(...kinds);
  const size = most < least * LARGER_KIND_BELOW ? most : least;

  const groupsOf = (layers: number) => Math.ceil(layers / size);
  const groups: CacheGroups[] = [];
  if (full > 0) groups.push({ kind: "full", layers: full, groups: groupsOf(full) });
  if (sliding > 0) {
    const mostTokens = (model.slidingWindow ?? 0) - 1 + BATCHES_UNDER_WAY * engine.maxNumBatchedTokens;
    groups.push({ kind: "sliding", layers: sliding, groups: groupsOf(sliding), mostTokens });
  }
  if (linear > 0) {
    groups.push({ kind: "linear", layers: linear, groups: groupsOf(linear), blocks: rules.stateBlocks });
  }
  return {
    blockSize,
    pageBytes,
    bytesPerBlock: pageBytes * size,
    layersPerGroup: size,
    groups,
    draftLayers: drafts,
    paddingLayers: groups.reduce((sum, each) => sum + each.groups * size - each.layers, 0),
    padding: state === 0 ? 0 : (pageBytes - state) / state,
    kvCacheDtype: dtype,
    bytesPerToken: full * tokenBytes,
  };
}

/** Bytes of one linear layer's state on one device; heads and channels are divided among the devices. */
function stateOf(model: ModelShape, engine: ResolvedKvEngineSettings): number {
  if (model.linear === null) return 0;
  const dtype = engine.mambaSsmCacheDtype === "auto" ? null : engine.mambaSsmCacheDtype;
  return stateBytes(model.linear, engine.draftTokens, dtype) / engine.tensorParallelSize;
}

/** A window that does not start at a block's first token touches one block more. */
const WINDOW_STARTS_INSIDE = 1;

/** Blocks of the pool that one request of so many tokens (prompt and answer) takes at most. */
export function requestBlocks(layout: CacheLayout, tokens: number): number {
  return layout.groups.reduce(
    (sum, each) => sum + each.groups * groupBlocks(each, layout.blockSize, tokens),
    0,
  );
}

function groupBlocks(group: CacheGroups, blockSize: number, tokens: number): number {
  switch (group.kind) {
    case "full":
      return Math.ceil(tokens / blockSize);
    case "sliding":
      return Math.ceil(Math.min(group.mostTokens, tokens) / blockSize) + WINDOW_STARTS_INSIDE;
    case "linear":
      return group.blocks;
  }
}

/**
 * The longest request, in tokens, that takes no more than so many blocks: 0 where not one token fits, `null` where
 * no length is too long (a model whose layers all slide).
 */
export function longestRequest(layout: CacheLayout, blocks: number): number | null {
  const fits = (tokens: number) => requestBlocks(layout, tokens) <= blocks;
  if (!fits(1)) return 0;
  const sliding = layout.groups.find((each) => each.kind === "sliding");
  const growing = layout.groups.some((each) => each.kind === "full");
  if (!growing && (sliding === undefined || fits(sliding.mostTokens))) return null;
  // What a request takes only grows where a block is full, so whole blocks are searched.
  let fitting = 0;
  let tooMany = blocks + 1;
  while (tooMany - fitting > 1) {
    const middle = Math.floor((fitting + tooMany) / 2);
    if (fits(middle * layout.blockSize)) fitting = middle;
    else tooMany = middle;
  }
  return fitting * layout.blockSize;
}
