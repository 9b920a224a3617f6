import { errorAt, type Fault, FaultyInput, hasErrors } from "../../faults/fault";
import { type CacheLayout, cacheLayout } from "./cacheLayout";
import { waitingTokens } from "./compressedIndex";
import { type EngineRules, engineRules } from "./engineRules";
import { type KvEngineSettings, type ResolvedKvEngineSettings, resolveKvEngineSettings } from "./engineSettings";
import { type Figures, figures } from "./figures";
import { supports } from "./kvDtype";
import type { ModelShape } from "./modelShape";
import { planProblems } from "./planProblems";

/** What an engine will make of the memory for its KV cache; plain data. All figures are of one device. */
export type KvPlan = Figures & {
  /** Whether the engine starts at all: a request fits, and so do its sequences. */
  readonly starts: boolean;
  /** Errors stop the engine at its start; warnings are worth knowing. */
  readonly problems: readonly Fault[];
};

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
  const plan = figures(settings, layout, rules, maxModelLen, availableBytes);
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
  const uneven = undividedHeads(model, settings.tensorParallelSize);
  const undivided = `${uneven.join(" and ")} heads can't be divided among ${settings.tensorParallelSize} devices.`;
  if (uneven.length > 0) faults.push(errorAt("tensorParallelSize", "impossible_value", undivided));
  if (maxModelLen === null || faults.length > 0) throw new FaultyInput("engine settings", faults);
  return maxModelLen;
}

/** Counts of heads that vLLM refuses to divide. Of key/value heads each device has one where there are fewer than devices. */
function undividedHeads({ attention, slidingAttention, queryHeads, linear }: ModelShape, devices: number): number[] {
  const keyValue = [attention, slidingAttention].flatMap((each) => (each?.kind === "heads" ? each.kvHeads : []));
  return [
    ...[queryHeads, ...(linear?.heads ?? [])].filter((count) => count % devices !== 0),
    ...keyValue.filter((count) => count % devices !== 0 && devices % count !== 0),
  ];
}
