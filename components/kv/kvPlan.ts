import { errorAt, type Fault, FaultyInput, hasErrors } from "../../faults/fault";
import { type CacheLayout, cacheLayout, longestRequest, requestBlocks } from "./cacheLayout";
import { waitingTokens } from "./compressedIndex";
import { type EngineRules, engineRules } from "./engineRules";
import { type KvEngineSettings, type ResolvedKvEngineSettings, resolveKvEngineSettings } from "./engineSettings";
import type { KvPlan, RequestCost } from "./figures";
import { supports } from "./kvDtype";
import type { ModelShape } from "./modelShape";
import { planProblems } from "./planProblems";
import { agentReuse } from "./prefixReuse";

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
  const rules = engineRules(model, settings);
  const maxModelLen = checkedWindow(model, settings, layout, rules);

  const numBlocks = Math.max(0, Math.floor(availableBytes / layout.bytesPerBlock));
  const usableBlocks = Math.max(0, numBlocks - rules.reservedBlocks);
  const cost = (tokens: number): RequestCost => {
    const blocks = requestBlocks(layout, tokens);
    return { tokens, blocks, bytes: blocks * layout.bytesPerBlock, concurrency: numBlocks / blocks };
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
    constantBytesPerRequest: constantBlocks * layout.bytesPerBlock,
    bytesPerToken: layout.bytesPerToken,
    usableBlocks,
    largestMaxModelLen: longestRequest(layout, usableBlocks),
    fullWindowsAtOnce: Math.floor(usableBlocks / window.blocks),
    prefixReuseTokens: settings.prefixCaching ? layout.blockSize : null,
    agentReuse: reuseKnown ? agentReuse(reuse, settings.prefixMatchUnit) : null,
    requests: [...USUAL_LENGTHS.filter((tokens) => tokens < maxModelLen).map(cost), window],
    layout,
  };
  const problems = planProblems(plan, model, settings, rules);
  return { ...plan, starts: !hasErrors(problems), problems };
}

function checkedWindow(
  model: ModelShape,
  settings: ResolvedKvEngineSettings,
  layout: CacheLayout,
  { indexedFormats }: EngineRules,
): number {
  const faults: Fault[] = [];
  const maxModelLen = settings.maxModelLen ?? model.window;
  const noWindow = "The model's config names no max_position_embeddings, so --max-model-len is required.";
  if (maxModelLen === null) faults.push(errorAt("maxModelLen", "missing_key", noWindow));
  if (!supports(model.attention, layout.kvCacheDtype)) {
    const what =
      model.attention.kind === "packed" ? "sparse attention on a GB10" : "compressed key/value vectors (MLA)";
    const message = `vLLM has no ${layout.kvCacheDtype} KV cache for ${what}; use fp8 or auto.`;
    faults.push(errorAt("kvCacheDtype", "impossible_value", message));
  }
  const index = model.compressedIndex;
  if (indexedFormats?.includes(layout.kvCacheDtype) === false) {
    const message = `vLLM ${settings.vllmVersion} has no ${layout.kvCacheDtype} KV cache for sparse attention whose index compresses keys; use ${indexedFormats.join(" or ")}.`;
    faults.push(errorAt("kvCacheDtype", "impossible_value", message));
  }
  const waiting = index === undefined ? 1 : waitingTokens(index, settings.draftTokens);
  const waitingKeys = `With ${settings.draftTokens} drafts the keys of ${waiting} tokens wait to become one, and vLLM stops where they don't divide a block, here of ${layout.blockSize} tokens; use at most ${index?.tokensPerKey}.`;
  if (layout.blockSize % waiting !== 0) faults.push(errorAt("draftTokens", "impossible_value", waitingKeys));
  const heads = model.linear?.heads ?? [];
  const undividedHeads = `${heads.join(" and ")} heads of linear layers can't be divided among ${settings.tensorParallelSize} devices.`;
  if (heads.some((count) => count % settings.tensorParallelSize !== 0))
    faults.push(errorAt("tensorParallelSize", "impossible_value", undividedHeads));
  if (maxModelLen === null || faults.length > 0) throw new FaultyInput("engine settings", faults);
  return maxModelLen;
}
