import { defined } from "@local-serving/base/faults/defined";
import { type Fault, FaultyInput } from "@local-serving/base/faults/fault";
import { isRecord, type JsonObject } from "@local-serving/base/faults/json";
import { readBy } from "@local-serving/base/faults/schemaFaults";
import type { SourceDocument } from "@local-serving/base/faults/yamlDocument";
import * as z from "zod";
import { type AttentionShape, attentionShape, fullAttentionShape } from "./attentionShape";
import { type CompressedIndex, compressedIndex } from "./compressedIndex";
import { type CompressedLayers, compressedLayers } from "./compressedLayers";
import { type ConfigFields, configSchema, missingField, unknownArchitecture } from "./configSchema";
import { checkpointKvDtype, type KvDtype } from "./kvDtype";
import { layerPattern } from "./layerPattern";
import {
  type LayerCounts,
  linearAttention,
  type RecurrentState,
  stateSpaceState,
  tellsLinearAttention,
  tellsStateSpace,
} from "./recurrentState";
import { type SparseIndex, sparseIndex } from "./sparseIndex";
import { unplannedCaches } from "./unplanned";

/** All that a KV plan has to know of a model. */
export interface ModelShape {
  /**
   * What the full-attention layers cache, and the sliding ones unless `slidingAttention` says
   * otherwise.
   */
  readonly attention: AttentionShape;
  readonly slidingAttention?: AttentionShape;
  /** Query heads of an attention layer. */
  readonly queryHeads: number;
  readonly layers: LayerCounts;
  /** Window of the sliding layers in tokens, `null` where there are none. */
  readonly slidingWindow: number | null;
  /** The state of a linear layer, which sizes the blocks; `null` if the model is not a hybrid. */
  readonly linear: RecurrentState | null;
  /** What sparse attention caches to select tokens by; absent where attention is not sparse. */
  readonly index?: SparseIndex;
  /** The same where one key is that of several tokens. */
  readonly compressedIndex?: CompressedIndex;
  /**
   * Layers that cache compressed tokens beside a window, in a layout of their own; absent where
   * there are none.
   */
  readonly compressed?: CompressedLayers;
  /** Attention layers of the draft module (MTP); `null` where the config names none. */
  readonly draftLayers: number | null;
  /** The model's own context window in tokens, `null` where the config names none. */
  readonly window: number | null;
  /** KV cache format that the checkpoint asks for when the engine's is `auto`. */
  readonly kvCacheDtype: KvDtype | null;
  /** The cache has the model's own format, whatever the engine or the checkpoint asks for. */
  readonly ignoresKvDtype?: boolean;
}

/**
 * Where a model is a part of another, as the language model of one that also sees, its fields are
 * nested.
 */
const rootSchema = z.looseObject({
  text_config: z.looseObject({}).nullish().describe("the language model's own config"),
});

/**
 * Reads a model's shape out of its config.json, by its fields alone: no model is known by name.
 *
 * @param configJson the parsed file
 * @param document where the value was read from, so that faults can name file, line and column
 * @throws FaultyInput with every missing, wrong or contradictory field at once; what can't be
 * planned has the code `unknown_architecture`
 */
export function modelShape(configJson: unknown, document?: SourceDocument): ModelShape {
  const known = isRecord(configJson) ? shapes.get(configJson) : undefined;
  if (known !== undefined) return known;
  const shape = readShape(configJson, document);
  if (isRecord(configJson)) shapes.set(configJson, shape);
  return shape;
}

/** The shape of each config that was read: many servers of a stack have one model. */
const shapes = new WeakMap<JsonObject, ModelShape>();

function readShape(configJson: unknown, document: SourceDocument | undefined): ModelShape {
  const root = isRecord(configJson) ? configJson : {};
  const file = document?.file ?? "config.json";
  const nesting = readBy(rootSchema, root, document);
  if (nesting.faults.length > 0) throw new FaultyInput(file, nesting.faults);
  const prefix = isRecord(root.text_config) ? ["text_config"] : [];
  const text = prefix.length > 0 && isRecord(root.text_config) ? root.text_config : configJson;
  const faults: Fault[] = isRecord(text) ? [...unplannedCaches(text), ...noAttention(text)] : [];
  const encoder =
    prefix.length > 0 ? unplannedCaches({ is_encoder_decoder: root.is_encoder_decoder }) : [];
  const parsed = readBy(configSchema, text);
  const read = parsed.data === undefined ? parsed : shapeOf(parsed.data, root);
  faults.push(...read.faults);
  const ofText = faults.map((fault): Fault => {
    const path = [...prefix, ...fault.path.split(".").filter(Boolean)];
    return { ...fault, path: path.join("."), ...document?.locate(path) };
  });
  const placed = [...ofText, ...encoder];
  if (!("shape" in read) || placed.length > 0) throw new FaultyInput(file, placed);
  return read.shape;
}

function shapeOf(config: ConfigFields, root: JsonObject): { shape: ModelShape; faults: Fault[] } {
  const { counts, faults } = layerPattern(config);
  const found = attentionShape(config);
  const linear = recurrentState(config, counts, isRecord(root.text_config));
  const { index, faults: indexFaults } = sparseIndex(config);
  const { layers: compressed, faults: compressedFaults } = compressedLayers(config);
  const { index: indexOfGroups, faults: groupFaults } = compressedIndex(config);
  const full = fullAttentionShape(config);
  faults.push(
    ...groupFaults,
    ...found.faults,
    ...linear.faults,
    ...indexFaults,
    ...compressedFaults,
    ...mixtureFaults(config, counts, found.attention),
  );
  const drafts = config.mtp_num_hidden_layers ?? config.num_nextn_predict_layers ?? null;
  const shape: ModelShape = {
    attention: full ?? found.attention,
    ...defined({ slidingAttention: full === null ? undefined : found.attention }),
    queryHeads: config.num_attention_heads,
    ...defined({ index, compressedIndex: indexOfGroups, compressed }),
    layers: counts,
    slidingWindow: counts.sliding > 0 ? (config.sliding_window ?? null) : null,
    linear: linear.state,
    draftLayers: drafts === 0 ? null : drafts,
    window: config.max_position_embeddings ?? null,
    // vLLM 0.30 doesn't pass `--kv-cache-dtype` on to the layers of models with this field.
    ...(config.new_decoder_architecture != null
      ? { kvCacheDtype: null, ignoresKvDtype: true }
      : {
          kvCacheDtype: checkpointKvDtype(root.quantization_config ?? config.quantization_config),
        }),
  };
  return { shape, faults };
}

/** Refuses layers that vLLM doesn't mix, and those that lack what their caches are sized by. */
function mixtureFaults(
  config: ConfigFields,
  counts: LayerCounts,
  attention: AttentionShape,
): Fault[] {
  const faults: Fault[] = [];
  if (tellsStateSpace(config) && config.sliding_window)
    faults.push(
      unknownArchitecture("sliding_window", "a sliding window is mixed with state-space layers."),
    );
  if (counts.sliding > 0 && config.sliding_window == null)
    faults.push(
      missingField(
        "sliding_window",
        `${counts.sliding} layers are sliding, so their window is needed.`,
      ),
    );
  if (counts.linear > 0 && counts.full === 0)
    faults.push(
      unknownArchitecture("layer_types", "there are linear layers, but none with full attention."),
    );
  const isHybrid = counts.linear > 0 && counts.sliding === 0 && attention.kind === "heads";
  if (config.indexer_compress_ratio != null && !isHybrid)
    faults.push(
      unknownArchitecture(
        "indexer_compress_ratio",
        "its index compresses keys, which vLLM only supports in hybrids with linear layers.",
      ),
    );
  if (config.kv_lora_rank != null && counts.full < config.num_hidden_layers)
    faults.push(
      unknownArchitecture(
        "kv_lora_rank",
        "compressed key/value vectors (MLA) are mixed with other kinds of layers.",
      ),
    );
  return faults;
}

/**
 * The state that blocks are sized by, also where no layer is a linear one: vLLM takes a model that
 * can have linear layers for a hybrid, unless the config lists attention alone and is not nested
 * (vLLM 0.30 `config/model.py`, is_hybrid).
 */
function recurrentState(
  config: ConfigFields,
  counts: LayerCounts,
  nested: boolean,
): { state: RecurrentState | null; faults: Fault[] } {
  const none = { state: null, faults: [] };
  if (counts.full === config.num_hidden_layers && !nested) return none;
  if (tellsStateSpace(config)) return { state: stateSpaceState(config), faults: [] };
  return counts.linear > 0 || tellsLinearAttention(config) ? linearAttention(config) : none;
}

/** A config without attention settings isn't broken; it is of another kind. */
function noAttention(text: JsonObject): Fault[] {
  if (text.num_hidden_layers !== undefined || text.num_attention_heads !== undefined) return [];
  return [unknownArchitecture("", "no field says which layers have attention.")];
}

/**
 * The context window of a model's config.json in tokens; `undefined` where it names none that can
 * be one, or scales it by its positions.
 */
export function ownWindow(config: unknown): number | undefined {
  const root = isRecord(config) ? config : {};
  const text = isRecord(root.text_config) ? root.text_config : root;
  const scaled = [text.rope_scaling, text.rope_parameters].some((rope) =>
    /"factor":/.test(JSON.stringify(rope) ?? ""),
  );
  const { max_position_embeddings: window } = text;
  return Number.isInteger(window) && Number(window) > 0 && !scaled ? Number(window) : undefined;
}
