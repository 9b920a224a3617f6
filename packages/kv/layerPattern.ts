import type { Fault } from "@local-serving/base/faults/fault";
import { type ConfigFields, unknownArchitecture, wrongCount } from "./configSchema";
import { type LayerCounts, stateSpaceLayers, tellsStateSpace } from "./recurrentState";

/**
 * Every n-th layer is full where a hybrid names no interval (vLLM 0.28,
 * transformers_utils/configs).
 */
const DEFAULT_FULL_ATTENTION_INTERVAL = 4;

const KINDS: Readonly<Record<string, keyof LayerCounts>> = {
  full_attention: "full",
  sliding_attention: "sliding",
  linear_attention: "linear",
};

/** Every token is cached, and some of them are read. */
const SPARSE = /_sparse_attention$/;

/**
 * The kinds of a model's layers: from `layer_types` where there is one, else from the fields that
 * generate it.
 */
export function layerPattern(config: ConfigFields): { counts: LayerCounts; faults: Fault[] } {
  const layers = config.num_hidden_layers;
  if (config.compress_ratios != null)
    return { counts: { full: layers, sliding: 0, linear: 0 }, faults: [] };
  if (config.layer_types != null) return namedLayers(config.layer_types, config);
  if (tellsStateSpace(config)) return stateSpaceLayers(config);
  if (config.full_attention_interval != null || config.linear_num_value_heads != null) {
    const full = Math.floor(
      layers / (config.full_attention_interval ?? DEFAULT_FULL_ATTENTION_INTERVAL),
    );
    return { counts: { full, sliding: 0, linear: layers - full }, faults: [] };
  }
  return windowedLayers(config, layers);
}

function namedLayers(
  types: readonly string[],
  config: ConfigFields,
): { counts: LayerCounts; faults: Fault[] } {
  const layers = config.num_hidden_layers;
  const counts = { full: 0, sliding: 0, linear: 0 };
  const faults: Fault[] = [];
  for (const type of new Set(types)) {
    const kind = Object.hasOwn(KINDS, type) ? KINDS[type] : SPARSE.test(type) ? "full" : undefined;
    if (kind !== undefined) counts[kind] += types.filter((each) => each === type).length;
    else
      faults.push(
        unknownArchitecture(
          `layer_types.${types.indexOf(type)}`,
          `it is not one of the layer types ${Object.keys(KINDS).join(", ")}.`,
        ),
      );
  }
  if (types.length !== layers) faults.push(wrongCount("layer_types", types.length, layers));
  // Without a window the engine takes them for layers that cache every token (vLLM 0.30
  // `config/model.py`).
  const windowless = { ...counts, full: counts.full + counts.sliding, sliding: 0 };
  return { counts: config.sliding_window === 0 ? windowless : counts, faults };
}

/** Layers of a model that lists no types and has no linear ones. */
function windowedLayers(
  config: ConfigFields,
  layers: number,
): { counts: LayerCounts; faults: Fault[] } {
  const allFull = { counts: { full: layers, sliding: 0, linear: 0 }, faults: [] };
  if (!config.sliding_window || config.use_sliding_window === false) return allFull;
  if (typeof config.sliding_window_pattern === "number") {
    const full = Math.floor(layers / config.sliding_window_pattern);
    return { counts: { full, sliding: layers - full, linear: 0 }, faults: [] };
  }
  if (config.use_sliding_window === true && config.max_window_layers != null) {
    if (config.max_window_layers >= layers) return allFull;
    if (config.max_window_layers === 0)
      return { counts: { full: 0, sliding: layers, linear: 0 }, faults: [] };
    // vLLM 0.30 stops with "Sliding window for some but all layers is not supported", or lets all
    // layers be full.
    const mixed =
      "only some layers would use it, which vLLM refuses for some kinds of models and ignores for others.";
    return { ...allFull, faults: [unknownArchitecture("max_window_layers", mixed)] };
  }
  const why =
    "there is a sliding window, but neither layer_types, a sliding_window_pattern in numbers nor use_sliding_window with max_window_layers says which layers use it.";
  return { ...allFull, faults: [unknownArchitecture("sliding_window", why)] };
}
