import { type Fault, FaultyInput, hasErrors } from "../../faults/fault";
import { type CacheLayout, cacheLayout } from "./cacheLayout";
import { engineRules } from "./engineRules";
import {
  type KvEngineSettings,
  type ResolvedKvEngineSettings,
  resolveKvEngineSettings,
} from "./engineSettings";
import { type KvDtype, supports } from "./kvDtype";
import type { ModelShape } from "./modelShape";
import { planProblems } from "./planProblems";
import { longestRequest, requestBlocks } from "./requestBlocks";

/** What requests of one length cost. */
export interface RequestCost {
  /** Prompt and answer together. */
  readonly tokens: number;
  readonly blocks: number;
  readonly bytes: number;
  /** Blocks of the pool divided by those of one such request, as the engine's log counts. */
  readonly concurrency: number;
}

/** What an engine will make of the memory for its KV cache; plain data. All figures are of one device. */
export interface KvPlan {
  /** Whether one request of `maxModelLen` tokens fits; where not, the engine refuses to start. */
  readonly fits: boolean;
  /** Whether the engine starts at all: a request fits, and so do its sequences. */
  readonly starts: boolean;
  /** Tokens in a block. */
  readonly blockSize: number;
  readonly bytesPerBlock: number;
  readonly numBlocks: number;
  /** Blocks and bytes of one request of `maxModelLen` tokens. */
  readonly blocksPerRequest: number;
  readonly bytesPerRequest: number;
  /** Requests of `maxModelLen` tokens that the pool holds, as the engine's log says it. */
  readonly maxConcurrency: number;
  /** "GPU KV cache size" of the engine's log: concurrency times `maxModelLen`. Compare concurrency, not this. */
  readonly tokens: number;
  readonly layers: {
    /** Full-attention layers, those of the draft module included. */
    readonly full: number;
    readonly sliding: number;
    readonly linear: number;
    readonly draft: number;
    readonly groups: number;
    readonly layersPerGroup: number;
    /** Places in the groups that no layer fills. */
    readonly padding: number;
  };
  /** Share by which a linear layer's state is padded to fill a page (0.0013: the log's "0.13%"). */
  readonly padding: number;
  readonly availableBytes: number;
  readonly maxModelLen: number;
  readonly maxNumSeqs: number | null;
  readonly kvCacheDtype: KvDtype;
  readonly vllmVersion: string;
  /** Bytes that a request takes for its linear layers, whatever its length. */
  readonly constantBytesPerRequest: number;
  /** Bytes that the full-attention layers cache of one token. */
  readonly bytesPerToken: number;
  /** Blocks that requests can take: the pool without what this version's fit check keeps free. */
  readonly usableBlocks: number;
  /** The largest `--max-model-len` that this memory can serve; 0: none, `null`: any (all layers slide). */
  readonly largestMaxModelLen: number | null;
  /** Whole requests of `maxModelLen` tokens that are served at once. */
  readonly fullWindowsAtOnce: number;
  /** A prompt's cached prefix is found again in steps of so many tokens; `null` without prefix caching. */
  readonly prefixReuseTokens: number | null;
  /** The full window, and the usual lengths below it. */
  readonly requests: readonly RequestCost[];
  /** Errors stop the engine at its start; warnings are worth knowing. */
  readonly problems: readonly Fault[];
  readonly layout: CacheLayout;
}

/** Lengths that coding agents are compared at, in tokens. */
const USUAL_LENGTHS = [32_768, 65_536, 131_072] as const;

/**
 * The exact KV plan of a model on an engine with so much memory for its KV cache.
 *
 * @param availableBytes what is left for the KV cache, in bytes, as the engine's log says it; may be negative
 * @throws FaultyInput for settings that are out of range, contradict each other or need a window that nothing names
 */
export function kvPlan(model: ModelShape, engine: KvEngineSettings, availableBytes: number): KvPlan {
  const settings = resolveKvEngineSettings(engine);
  const layout = cacheLayout(model, settings);
  const maxModelLen = checkedWindow(model, settings, layout);
  const rules = engineRules(model, settings);

  const numBlocks = Math.max(0, Math.floor(availableBytes / layout.bytesPerBlock));
  const usableBlocks = Math.max(0, numBlocks - rules.reservedBlocks);
  const cost = (tokens: number): RequestCost => {
    const blocks = requestBlocks(layout, tokens);
    return { tokens, blocks, bytes: blocks * layout.bytesPerBlock, concurrency: numBlocks / blocks };
  };
  const window = cost(maxModelLen);
  const layersOf = (kind: "full" | "sliding" | "linear") =>
    layout.groups.find((each) => each.kind === kind)?.layers ?? 0;
  const states = layout.groups.find((each) => each.kind === "linear");

  const plan = {
    fits: window.blocks <= usableBlocks,
    blockSize: layout.blockSize,
    bytesPerBlock: layout.bytesPerBlock,
    numBlocks,
    blocksPerRequest: window.blocks,
    bytesPerRequest: window.bytes,
    maxConcurrency: window.concurrency,
    tokens: Math.trunc(window.concurrency * maxModelLen),
    layers: {
      full: layersOf("full"),
      sliding: layersOf("sliding"),
      linear: layersOf("linear"),
      draft: layout.draftLayers,
      groups: layout.groups.reduce((sum, each) => sum + each.groups, 0),
      layersPerGroup: layout.layersPerGroup,
      padding: layout.paddingLayers,
    },
    padding: layout.padding,
    availableBytes,
    maxModelLen,
    maxNumSeqs: settings.maxNumSeqs ?? null,
    kvCacheDtype: layout.kvCacheDtype,
    vllmVersion: settings.vllmVersion,
    constantBytesPerRequest:
      states?.kind === "linear" ? states.groups * states.blocks * layout.bytesPerBlock : 0,
    bytesPerToken: layout.bytesPerToken,
    usableBlocks,
    largestMaxModelLen: longestRequest(layout, usableBlocks),
    fullWindowsAtOnce: Math.floor(usableBlocks / window.blocks),
    prefixReuseTokens: settings.prefixCaching ? layout.blockSize : null,
    requests: [...USUAL_LENGTHS.filter((tokens) => tokens < maxModelLen).map(cost), window],
    layout,
  };
  const problems = planProblems(plan, model, settings, rules);
  return { ...plan, starts: !hasErrors(problems), problems };
}

function checkedWindow(model: ModelShape, settings: ResolvedKvEngineSettings, layout: CacheLayout): number {
  const faults: Fault[] = [];
  const maxModelLen = settings.maxModelLen ?? model.window;
  if (maxModelLen === null) {
    const message = "The model's config names no max_position_embeddings, so --max-model-len is required.";
    faults.push({ path: "maxModelLen", code: "missing_key", message, severity: "error" });
  }
  if (!supports(model.attention, layout.kvCacheDtype)) {
    const message = `vLLM has no ${layout.kvCacheDtype} KV cache for compressed key/value vectors (MLA); use fp8 or auto.`;
    faults.push({ path: "kvCacheDtype", code: "impossible_value", message, severity: "error" });
  }
  const heads = model.linear?.heads ?? [];
  if (heads.some((count) => count % settings.tensorParallelSize !== 0)) {
    const message = `${heads.join(" and ")} heads of linear layers can't be divided among ${settings.tensorParallelSize} devices.`;
    faults.push({ path: "tensorParallelSize", code: "impossible_value", message, severity: "error" });
  }
  if (maxModelLen === null || faults.length > 0) throw new FaultyInput("engine settings", faults);
  return maxModelLen;
}
