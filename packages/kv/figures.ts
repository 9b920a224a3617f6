import type { DataOf } from "@local-serving/base/data/dataOf";
import { type CacheLayout, longestRequest, requestBlocks } from "./cacheLayout";
import type { EngineRules } from "./engineRules";
import type { ResolvedKvEngineSettings } from "./engineSettings";
import { agentReuse } from "./prefixReuse";
import type { kvPlanSchema } from "./schema";

/** Lengths that coding agents are compared at, in tokens. */
const USUAL_LENGTHS = [32_768, 65_536, 131_072] as const;

/** A plan before it is judged. */
export type Figures = Omit<DataOf<typeof kvPlanSchema>, "starts" | "problems">;

/**
 * An engine with its settings, the layout of a model's cache on it, and the rules of its version.
 */
export interface LaidOut {
  readonly settings: ResolvedKvEngineSettings;
  readonly layout: CacheLayout;
  readonly rules: EngineRules;
}

/** The figures of a cache of so many bytes for windows of so many tokens. */
export function figures(laidOut: LaidOut, maxModelLen: number, availableBytes: number): Figures {
  const { settings, layout, rules } = laidOut;
  const numBlocks = Math.max(0, Math.floor(availableBytes / layout.bytesPerBlock));
  const usableBlocks = Math.max(0, numBlocks - rules.reservedBlocks);
  /** What requests of one length cost. */
  const cost = (tokens: number) => {
    const blocks = requestBlocks(layout, tokens);
    return {
      tokens,
      blocks,
      bytes: blocks * layout.bytesPerBlock,
      /** Blocks of the pool divided by the blocks of one such request, as the engine's log counts. */
      concurrency: numBlocks / blocks,
    };
  };
  const window = cost(maxModelLen);
  const linear = layout.groups.filter((each) => each.kind === "linear");
  const constantBlocks = linear.reduce((sum, each) => sum + each.groups * each.blocks, 0);
  return {
    fits: window.blocks <= usableBlocks,
    blockSize: layout.blockSize,
    bytesPerBlock: layout.bytesPerBlock,
    numBlocks,
    blocksPerRequest: window.blocks,
    bytesPerRequest: window.bytes,
    maxConcurrency: window.concurrency,
    tokens: Math.trunc(window.concurrency * maxModelLen),
    layers: layers(layout),
    padding: layout.padding,
    availableBytes,
    maxModelLen,
    maxNumSeqs: settings.maxNumSeqs ?? null,
    kvCacheDtype: layout.kvCacheDtype,
    vllmVersion: settings.vllmVersion,
    constantBytesPerRequest: constantBlocks * layout.bytesPerBlock,
    bytesPerToken: layout.bytesPerToken,
    usableBlocks,
    largestMaxModelLen: longestRequest(layout, usableBlocks),
    fullWindowsAtOnce: Math.floor(usableBlocks / window.blocks),
    prefixReuseTokens: settings.prefixCaching ? layout.blockSize : null,
    agentReuse: reuseOf(laidOut),
    requests: [...USUAL_LENGTHS.filter((tokens) => tokens < maxModelLen).map(cost), window],
    layout,
  };
}

const layersOf = ({ groups }: CacheLayout, kind: "full" | "sliding" | "linear"): number =>
  groups.reduce((sum, each) => sum + (each.kind === kind ? each.layers : 0), 0);

function layers(layout: CacheLayout): Figures["layers"] {
  return {
    full: layersOf(layout, "full"),
    sliding: layersOf(layout, "sliding"),
    linear: layersOf(layout, "linear"),
    draft: layout.draftLayers,
    groups: layout.groups.reduce((sum, each) => sum + each.groups, 0),
    layersPerGroup: layout.layersPerGroup,
    padding: layout.paddingLayers,
  };
}

/**
 * What agents find again of their last prompt; `null` if the cache finds nothing again, or its
 * rules are unknown.
 */
function reuseOf({ settings, layout, rules }: LaidOut): Figures["agentReuse"] {
  if (!settings.prefixCaching || !rules.alike || layersOf(layout, "full") === 0) return null;
  const reuse = {
    hybrid: layersOf(layout, "linear") > 0,
    block: layout.blockSize,
    chunk: settings.maxNumBatchedTokens,
    drafts: settings.draftTokens,
    vllmVersion: settings.vllmVersion,
  };
  return agentReuse(reuse, settings.prefixMatchUnit);
}
