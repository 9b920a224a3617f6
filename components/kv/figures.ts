import { type CacheLayout, longestRequest, requestBlocks } from "./cacheLayout";
import type { EngineRules } from "./engineRules";
import type { ResolvedKvEngineSettings } from "./engineSettings";
import { agentReuse } from "./prefixReuse";

/** Lengths that coding agents are compared at, in tokens. */
const USUAL_LENGTHS = [32_768, 65_536, 131_072] as const;

/** A plan before it is judged. */
export type Figures = Readonly<ReturnType<typeof figures>>;

export function figures(
  settings: ResolvedKvEngineSettings,
  layout: CacheLayout,
  rules: EngineRules,
  maxModelLen: number,
  availableBytes: number,
) {
  const numBlocks = Math.max(0, Math.floor(availableBytes / layout.bytesPerBlock));
  const usableBlocks = Math.max(0, numBlocks - rules.reservedBlocks);
  /** What requests of one length cost. */
  const cost = (tokens: number) => {
    const blocks = requestBlocks(layout, tokens);
    return {
      tokens,
      blocks,
      bytes: blocks * layout.bytesPerBlock,
      /** Blocks of the pool divided by those of one such request, as the engine's log counts. */
      concurrency: numBlocks / blocks,
    };
  };
  const window = cost(maxModelLen);
  const layersOf = (kind: "full" | "sliding" | "linear") =>
    layout.groups.reduce((sum, each) => sum + (each.kind === kind ? each.layers : 0), 0);
  const linear = layout.groups.filter((each) => each.kind === "linear");
  const constantBlocks = linear.reduce((sum, each) => sum + each.groups * each.blocks, 0);
  const reuse = {
    hybrid: layersOf("linear") > 0,
    block: layout.blockSize,
    chunk: settings.maxNumBatchedTokens,
    drafts: settings.draftTokens,
    vllmVersion: settings.vllmVersion,
  };
  const reuseKnown = settings.prefixCaching && rules.alike && layersOf("full") > 0;

  return {
    /** Whether one request of `maxModelLen` tokens fits; where not, the engine refuses to start. */
    fits: window.blocks <= usableBlocks,
    blockSize: layout.blockSize,
    bytesPerBlock: layout.bytesPerBlock,
    numBlocks,
    /** Blocks and bytes of one request of `maxModelLen` tokens. */
    blocksPerRequest: window.blocks,
    bytesPerRequest: window.bytes,
    /** Requests of `maxModelLen` tokens that the pool holds, as the engine's log says it. */
    maxConcurrency: window.concurrency,
    /** "GPU KV cache size" of the engine's log: concurrency times `maxModelLen`. Compare concurrency, not this. */
    tokens: Math.trunc(window.concurrency * maxModelLen),
    layers: {
      full: layersOf("full"),
      sliding: layersOf("sliding"),
      linear: layersOf("linear"),
      draft: layout.draftLayers,
      groups: layout.groups.reduce((sum, each) => sum + each.groups, 0),
      layersPerGroup: layout.layersPerGroup,
      /** Places in the groups that no layer fills. */
      padding: layout.paddingLayers,
    },
    /** Share by which a linear layer's state is padded to fill a page (0.0013: the log's "0.13%"). */
    padding: layout.padding,
    availableBytes,
    maxModelLen,
    maxNumSeqs: settings.maxNumSeqs ?? null,
    kvCacheDtype: layout.kvCacheDtype,
    vllmVersion: settings.vllmVersion,
    /** Bytes that a request takes for its linear layers, whatever its length. */
    constantBytesPerRequest: constantBlocks * layout.bytesPerBlock,
    bytesPerToken: layout.bytesPerToken,
    /** Blocks that requests can take: the pool without what this version's fit check keeps free. */
    usableBlocks,
    /** The largest `--max-model-len` that this memory can serve; 0: none, `null`: any (all layers slide). */
    largestMaxModelLen: longestRequest(layout, usableBlocks),
    /** Whole requests of `maxModelLen` tokens that are served at once. */
    fullWindowsAtOnce: Math.floor(usableBlocks / window.blocks),
    /** A prompt's cached prefix is found again in steps of so many tokens; `null` without prefix caching. */
    prefixReuseTokens: settings.prefixCaching ? layout.blockSize : null,
    /** What an agent's calls find again; `null` without prefix caching, and for kinds of layers that were not compared. */
    agentReuse: reuseKnown ? agentReuse(reuse, settings.prefixMatchUnit) : null,
    /** The full window, and the usual lengths below it. */
    requests: [...USUAL_LENGTHS.filter((tokens) => tokens < maxModelLen).map(cost), window],
    layout,
  };
}
