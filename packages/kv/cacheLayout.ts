import type { DataOf } from "@local-serving/base/data/dataOf";
import { type CacheGroups, groupBlocks, type PackedCaches, SMALLEST_BLOCK } from "./cacheGroups";
import { indexedCaches, ngramStateBytes } from "./compressedIndex";
import { COMPRESSED_BLOCK, compressedCaches } from "./compressedLayers";
import { type EngineRules, engineRules, INDEXED_BLOCK } from "./engineRules";
import type { ResolvedKvEngineSettings } from "./engineSettings";
import { bytesPerToken, type KvDtype, resolveKvDtype } from "./kvDtype";
import type { ModelShape } from "./modelShape";
import { stateBytes } from "./recurrentState";
import type { cacheLayoutSchema } from "./schema";

/**
 * How the engine cuts the cache into blocks; it depends on model and engine, not on the memory
 * there is.
 */
export type CacheLayout = DataOf<typeof cacheLayoutSchema>;

/**
 * Batches that are scheduled and not yet settled, with vLLM's asynchronous scheduling (its
 * default).
 */
const BATCHES_UNDER_WAY = 2;

/**
 * A draft module that the config doesn't describe is taken to be one layer (vLLM's default for MTP
 * modules).
 */
const ASSUMED_DRAFT_LAYERS = 1;

/**
 * Groups have the size of the smaller kind, unless the larger is less than this many times as large
 * (vLLM).
 */
const LARGER_KIND_BELOW = 1.5;

/** What every layout takes from the model and its engine. */
interface Settled {
  readonly dtype: KvDtype;
  /** Layers of the draft module. */
  readonly drafts: number;
  /** Layers that keep every token, those of the draft module included. */
  readonly full: number;
  readonly tokensUnderWay: number;
}

/**
 * The layout of a model's cache. Source: vLLM 0.28 `platforms/interface.py` and
 * `kv_cache_utils.py`.
 */
export function cacheLayout(model: ModelShape, engine: ResolvedKvEngineSettings): CacheLayout {
  const setting = model.ignoresKvDtype ? "auto" : engine.kvCacheDtype;
  const drafts = engine.draftTokens === 0 ? 0 : (model.draftLayers ?? ASSUMED_DRAFT_LAYERS);
  const settled: Settled = {
    dtype: resolveKvDtype(setting, model.kvCacheDtype, model.attention),
    drafts,
    full: model.layers.full + drafts,
    tokensUnderWay: BATCHES_UNDER_WAY * engine.maxNumBatchedTokens,
  };
  const { full, tokensUnderWay } = settled;
  if (model.compressed !== undefined) {
    const caches = compressedCaches(model.compressed, full, tokensUnderWay);
    const page = { blockSize: COMPRESSED_BLOCK, pageBytes: caches.fullBytes, padding: 0 };
    return packedLayout(caches, settled, page);
  }
  const rules = engineRules(model, engine);
  const page = pageOf(model, engine, rules, settled);
  if (model.compressedIndex !== undefined) {
    const caches = indexedCaches(
      model.compressedIndex,
      { tokens: page.blockSize, bytes: page.pageBytes },
      { full, linear: model.layers.linear },
      { stateBlocks: rules.stateBlocks, drafts: engine.draftTokens },
    );
    return packedLayout(caches, settled, page);
  }
  return groupedLayout(model, rules, settled, page);
}

/** The engine's block, and what one layer needs for it. */
interface Page {
  /** Tokens of a block. */
  readonly blockSize: number;
  readonly pageBytes: number;
  /** Share by which a state is padded to fill a page; 0 if no layer has one. */
  readonly padding: number;
}

/** A page, and the bytes that a layer of each kind caches of one token. */
interface TokenPage extends Page {
  readonly tokenBytes: number;
  readonly slidingBytes: number;
}

function pageOf(
  model: ModelShape,
  engine: ResolvedKvEngineSettings,
  rules: EngineRules,
  { dtype, full }: Settled,
): TokenPage {
  const { attention, slidingAttention = attention } = model;
  const tokenBytes = bytesPerToken(attention, dtype, engine.tensorParallelSize);
  const slidingBytes = bytesPerToken(slidingAttention, dtype, engine.tensorParallelSize);
  const state = stateOf(model, engine);
  const blockSize = state === 0 ? statelessBlock(model) : stateBlock(rules, state, tokenBytes);
  const pageBytes =
    blockSize * Math.max(full > 0 ? tokenBytes : 0, model.layers.sliding > 0 ? slidingBytes : 0);
  const padding = state === 0 ? 0 : (pageBytes - state) / state;
  return { blockSize, pageBytes, padding, tokenBytes, slidingBytes };
}

/** A layout whose caches have pages of several sizes, which vLLM packs into one block. */
const packedLayout = (
  { fullBytes, ...caches }: PackedCaches,
  { dtype, drafts }: Settled,
  { blockSize, pageBytes, padding }: Page,
): CacheLayout => ({
  ...caches,
  blockSize,
  pageBytes,
  draftLayers: drafts,
  paddingLayers: 0,
  padding,
  kvCacheDtype: dtype,
  bytesPerToken: fullBytes / blockSize,
});

/** A layout whose layers all have pages of one size, in groups of as many layers. */
function groupedLayout(
  { layers: { sliding, linear }, index, slidingWindow }: ModelShape,
  rules: EngineRules,
  { dtype, drafts, full, tokensUnderWay }: Settled,
  { blockSize, pageBytes, padding, tokenBytes, slidingBytes }: TokenPage,
): CacheLayout {
  // Layers that cache less of a token get more tokens in their block. If the page is no multiple of
  // theirs, it is padded instead.
  const blockOf = (bytes: number) =>
    pageBytes % (blockSize * bytes) === 0 ? pageBytes / bytes : blockSize;
  const indexBytes = index === undefined ? 0 : (index.layers + drafts) * index.bytesPerToken;
  const size = groupSize([full, sliding, linear].filter((layers) => layers > 0));
  const split = (layers: number) => ({ layers, groups: Math.ceil(layers / size) });
  const mostTokens = (slidingWindow ?? 0) - 1 + tokensUnderWay;
  const kinds: readonly CacheGroups[] = [
    { kind: "full", ...split(full), blockSize: blockOf(tokenBytes) },
    { kind: "sliding", ...split(sliding), blockSize: blockOf(slidingBytes), mostTokens },
    { kind: "linear", ...split(linear), blockSize, blocks: rules.stateBlocks },
  ];
  const groups = kinds.filter(({ layers }) => layers > 0);
  return {
    blockSize,
    pageBytes,
    bytesPerBlock: pageBytes * size + blockSize * indexBytes,
    layersPerGroup: size,
    groups,
    draftLayers: drafts,
    paddingLayers: groups.reduce((sum, each) => sum + each.groups * size - each.layers, 0),
    padding,
    kvCacheDtype: dtype,
    bytesPerToken: full * tokenBytes + indexBytes,
  };
}

/** Tokens of a block where no layer has a state. */
const statelessBlock = ({ index }: ModelShape): number =>
  index === undefined ? SMALLEST_BLOCK : INDEXED_BLOCK;

/** Tokens of a block whose keys and values, at so many bytes for each, have room for a state. */
const stateBlock = ({ blockMultiple }: EngineRules, state: number, tokenBytes: number): number =>
  blockMultiple * Math.ceil(state / (blockMultiple * tokenBytes));

/** Returns the layers of a group, from how many layers there are of each kind. */
function groupSize(counts: readonly number[]): number {
  const most = Math.max(...counts);
  const least = Math.min(...counts);
  return most < least * LARGER_KIND_BELOW ? most : least;
}

/**
 * Bytes of the largest state of a layer on one device; heads and channels are divided among the
 * devices.
 */
function stateOf(model: ModelShape, engine: ResolvedKvEngineSettings): number {
  if (model.linear === null) return 0;
  const dtype = engine.mambaSsmCacheDtype === "auto" ? null : engine.mambaSsmCacheDtype;
  const state = stateBytes(model.linear, engine.draftTokens, dtype, engine.tensorParallelSize);
  return model.compressedIndex === undefined
    ? state
    : Math.max(state, ngramStateBytes(model.compressedIndex, engine.draftTokens));
}

/** Blocks of the pool that one request of so many tokens (prompt and answer) takes at most. */
export const requestBlocks = (layout: CacheLayout, tokens: number): number =>
  layout.groups.reduce((sum, each) => sum + each.groups * groupBlocks(each, tokens), 0);

/**
 * The longest request, in tokens, that takes no more than so many blocks: 0 where not one token
 * fits, `null` where no length is too long (a model whose layers all slide).
 */
export function longestRequest(layout: CacheLayout, blocks: number): number | null {
  const fits = (tokens: number) => requestBlocks(layout, tokens) <= blocks;
  if (!fits(1)) return 0;
  const full = layout.groups.find((each) => each.kind === "full");
  if (full === undefined && fits(Number.MAX_SAFE_INTEGER)) return null;
  let fitting = 1;
  let tooMany = (blocks + 1) * Math.max(...layout.groups.map((each) => each.blockSize)) + 1;
  while (tooMany - fitting > 1) {
    const middle = Math.floor((fitting + tooMany) / 2);
    if (fits(middle)) fitting = middle;
    else tooMany = middle;
  }
  return fitting;
}
