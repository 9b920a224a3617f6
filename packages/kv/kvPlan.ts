import type { DataOf } from "@local-serving/base/data/dataOf";
import {
  errorAt,
  type Fault,
  FaultyInput,
  hasErrors,
  warningAt,
} from "@local-serving/base/faults/fault";
import { gib } from "@local-serving/base/units/memory";
import { type CacheLayout, cacheLayout, requestBlocks } from "./cacheLayout";
import { waitingTokens } from "./compressedIndex";
import { CHECKED_VERSIONS, type EngineRules, engineRules } from "./engineRules";
import {
  type KvEngineSettings,
  type ResolvedKvEngineSettings,
  resolveKvEngineSettings,
} from "./engineSettings";
import { type Figures, figures, type LaidOut } from "./figures";
import { servedOnGb10, supports } from "./kvDtype";
import type { ModelShape } from "./modelShape";
import type { kvPlanSchema } from "./schema";

/**
 * What an engine will make of the memory for its KV cache; plain data. All figures are of one
 * device.
 */
export type KvPlan = DataOf<typeof kvPlanSchema>;

/**
 * The exact KV plan of a model on an engine with so much memory for its KV cache.
 *
 * @param availableBytes what is left for the KV cache, in bytes, as the engine's log says it; may
 * be negative
 * @throws FaultyInput for settings that are out of range, contradict each other or need a window
 * that nothing names
 */
export const kvPlan = (
  model: ModelShape,
  engine: KvEngineSettings,
  availableBytes: number,
): KvPlan => kvPlanner(model, engine)(availableBytes);

/**
 * Makes the same for any memory. What the memory doesn't change is worked out once.
 *
 * @throws FaultyInput as `kvPlan` does, and what it returns throws nothing
 */
export function kvPlanner(
  model: ModelShape,
  engine: KvEngineSettings,
): (availableBytes: number) => KvPlan {
  const laidOut = layOut(model, engine);
  const { rules, maxModelLen } = laidOut;
  const assumed = assumptions(model, laidOut);
  return (availableBytes) => {
    const plan = figures(laidOut, maxModelLen, availableBytes);
    const problems = [
      ...noFit(plan, rules),
      ...tooManySequences(plan, model),
      ...windowAboveModel(plan, model),
      ...assumed,
    ];
    return { ...plan, starts: !hasErrors(problems), problems };
  };
}

/**
 * Bytes of one block, and those that one request of the whole window takes. Throws as `kvPlan` does.
 */
export function windowBytes(
  model: ModelShape,
  engine: KvEngineSettings,
): Pick<KvPlan, "bytesPerBlock" | "bytesPerRequest"> {
  const { layout, maxModelLen } = layOut(model, engine);
  const { bytesPerBlock } = layout;
  return { bytesPerBlock, bytesPerRequest: requestBlocks(layout, maxModelLen) * bytesPerBlock };
}

/** An engine with its cache for a model, whose window is checked. */
function layOut(model: ModelShape, engine: KvEngineSettings): LaidOut & { maxModelLen: number } {
  const settings = resolveKvEngineSettings(engine);
  const layout = cacheLayout(model, settings);
  const rules = engineRules(model, settings);
  return { settings, layout, rules, maxModelLen: checkedWindow(model, settings, layout, rules) };
}

function checkedWindow(
  model: ModelShape,
  settings: ResolvedKvEngineSettings,
  layout: CacheLayout,
  { indexedFormats }: EngineRules,
): number {
  const faults: Fault[] = [];
  const maxModelLen = settings.maxModelLen ?? model.window;
  if (maxModelLen === null)
    faults.push(
      errorAt(
        "maxModelLen",
        "missing_key",
        "The model's config names no max_position_embeddings, so --max-model-len is required.",
      ),
    );
  if (!supports(model.attention, layout.kvCacheDtype)) {
    const what =
      model.attention.kind === "packed"
        ? "sparse attention on a GB10"
        : "compressed key/value vectors (MLA)";
    const message = `vLLM has no ${layout.kvCacheDtype} KV cache for ${what}; use fp8 or auto.`;
    faults.push(errorAt("kvCacheDtype", "impossible_value", message));
  }
  const index = model.compressedIndex;
  if (indexedFormats?.includes(layout.kvCacheDtype) === false) {
    const message = `vLLM ${settings.vllmVersion} has no ${layout.kvCacheDtype} KV cache for sparse attention whose index compresses keys; use ${indexedFormats.join(" or ")}.`;
    faults.push(errorAt("kvCacheDtype", "impossible_value", message));
  }
  const waiting = index === undefined ? 1 : waitingTokens(index, settings.draftTokens);
  if (layout.blockSize % waiting !== 0)
    faults.push(
      errorAt(
        "draftTokens",
        "impossible_value",
        `With ${settings.draftTokens} draft tokens, the keys of ${waiting} tokens are compressed together. That number doesn't divide a block of ${layout.blockSize} tokens, so vLLM stops; use at most ${index?.tokensPerKey}.`,
      ),
    );
  const uneven = undividedHeads(model, settings.tensorParallelSize);
  if (uneven.length > 0)
    faults.push(
      errorAt(
        "tensorParallelSize",
        "impossible_value",
        `${uneven.join(" and ")} heads can't be divided among ${settings.tensorParallelSize} devices.`,
      ),
    );
  if (maxModelLen === null || faults.length > 0) throw new FaultyInput("engine settings", faults);
  return maxModelLen;
}

/**
 * Returns the counts of heads that vLLM refuses to divide. If there are fewer key/value heads than
 * devices, each device gets one.
 */
function undividedHeads(
  { attention, slidingAttention, queryHeads, linear }: ModelShape,
  devices: number,
): number[] {
  const keyValue = [attention, slidingAttention].flatMap((each) =>
    each?.kind === "heads" ? each.kvHeads : [],
  );
  return [
    ...[queryHeads, ...(linear?.heads ?? [])].filter((count) => count % devices !== 0),
    ...keyValue.filter((count) => count % devices !== 0 && devices % count !== 0),
  ];
}

/** Source of both refusals: vLLM 0.28 `kv_cache_utils.py`, _check_enough_kv_cache_memory. */
function noFit(plan: Figures, rules: EngineRules): Fault[] {
  if (plan.fits) return [];
  const reserved = rules.reservedBlocks * plan.bytesPerBlock;
  if (plan.availableBytes <= reserved) {
    const than = reserved > 0 ? `, and the engine keeps a block of ${gib(reserved)} free` : "";
    const message = `No memory is left for the KV cache (${gib(plan.availableBytes)}${than}); the engine stops with "No available memory for the cache blocks". Raise its utilization.`;
    return [errorAt("availableBytes", "no_room", message)];
  }
  const missing = plan.bytesPerRequest + reserved - plan.availableBytes;
  const longest = plan.largestMaxModelLen ?? 0;
  const shorter = longest > 0 ? `lower --max-model-len to at most ${longest}, or ` : "";
  const message = `One request of ${plan.maxModelLen} tokens needs ${gib(plan.bytesPerRequest)} of KV cache; ${gib(plan.availableBytes - reserved)} can be used. To serve it, ${shorter}give the cache ${gib(missing)} more.`;
  return [errorAt("maxModelLen", "request_does_not_fit", message)];
}

/**
 * Source: vLLM 0.28 `config/compilation.py`; it holds while CUDA graphs of whole decode steps are
 * captured.
 */
function tooManySequences(plan: Figures, model: ModelShape): Fault[] {
  if (model.layers.linear === 0 || plan.maxNumSeqs === null || plan.numBlocks === 0) return [];
  if (plan.maxNumSeqs <= plan.numBlocks) return [];
  const message = `--max-num-seqs ${plan.maxNumSeqs} is more than the ${plan.numBlocks} blocks of the pool. Use at most ${plan.numBlocks}: each sequence of a model with linear layers needs one, and the engine stops with "max_num_seqs exceeds available Mamba cache blocks".`;
  return [errorAt("maxNumSeqs", "too_many_sequences", message)];
}

function windowAboveModel(plan: Figures, model: ModelShape): Fault[] {
  if (model.window === null || plan.maxModelLen <= model.window) return [];
  const message = `--max-model-len ${plan.maxModelLen} is above the model's own, ${model.window}. vLLM refuses it unless the config extends its positions.`;
  return [warningAt("maxModelLen", "window_above_model", message)];
}

function assumptions(model: ModelShape, { settings, layout, rules }: LaidOut): Fault[] {
  const faults: Fault[] = [];
  const dtype = layout.kvCacheDtype;
  if (!servedOnGb10(dtype))
    faults.push(
      warningAt(
        "kvCacheDtype",
        "kv_cache_dtype_not_served",
        `vLLM has no attention backend for a ${dtype} KV cache on a GB10. The published engine stops with "No valid attention backend found" (seen in the code of 0.30.0). Use fp8; these figures only hold for an image that was changed to support it.`,
      ),
    );
  if (model.ignoresKvDtype && settings.kvCacheDtype !== "auto")
    faults.push(
      warningAt(
        "kvCacheDtype",
        "kv_cache_dtype_ignored",
        `vLLM keeps this model's KV cache in its own format. It does not pass --kv-cache-dtype ${settings.kvCacheDtype} to its layers.`,
      ),
    );
  if (settings.draftTokens > 0 && model.draftLayers === null)
    faults.push(
      warningAt(
        "draftTokens",
        "draft_layer_assumed",
        "One draft layer with full attention is assumed. The model's config names none (mtp_num_hidden_layers, num_nextn_predict_layers).",
      ),
    );
  if (!rules.checked)
    faults.push(
      warningAt(
        "vllmVersion",
        "unchecked_version",
        `The cache rules weren't checked against vLLM ${settings.vllmVersion}. They were against ${rules.oldestChecked} to ${CHECKED_VERSIONS.newest}.`,
      ),
    );
  return faults;
}
