import { FaultyInput } from "@local-serving/base/faults/fault";
import { objectOr } from "@local-serving/base/faults/json";
import { BYTES_PER_GIB } from "@local-serving/base/units/memory";
import { type ModelShape, modelShape } from "@local-serving/kv";
import * as z from "zod";
import type { ModelEvidence } from "../planned";
import type { InferenceServerSettings } from "../settings";

/** Bytes of a number in a slot: as the model's own, always two in vLLM. */
const NUMBER_BYTES = 2;

const width = z.int().positive().nullish();

/** Fields of a config.json that decide how wide a model's linear layers are. */
export const widthsSchema = z.looseObject({
  hidden_size: z.int().positive(),
  vocab_size: width,
  num_hidden_layers: z.int().positive(),
  num_attention_heads: z.int().positive(),
  intermediate_size: width,
  moe_intermediate_size: width,
  num_experts: width,
  n_routed_experts: width,
  num_local_experts: width,
  shared_expert_intermediate_size: width,
  n_shared_experts: z.int().min(0).nullish(),
  first_k_dense_replace: z.int().min(0).nullish(),
  mlp_only_layers: z.array(z.int()).nullish(),
  decoder_sparse_step: width,
  attn_output_gate: z.boolean().nullish(),
  linear_num_key_heads: width,
  linear_num_value_heads: width,
  linear_key_head_dim: width,
  linear_value_head_dim: width,
  linear_conv_kernel_dim: width,
});
type Widths = z.output<typeof widthsSchema>;

/** A linear layer of vLLM's, with the names that an adapter knows it by. */
interface LinearLayer {
  readonly names: readonly string[];
  readonly count: number;
  /** Numbers that a slot has for each unit of its rank: inputs of all parts, and outputs. */
  readonly numbers: number;
}

/** Memory of the slots for adapters on a GPU, or why it isn't known. */
export type AdapterSlots =
  | { readonly gib: number; readonly each: number; readonly rank: number; readonly slots: number }
  | { readonly why: string };

/**
 * What a server's slots for adapters take of each GPU; `undefined` where it has none. vLLM makes
 * them at its start, in every linear layer, for the largest rank, whatever its adapters use (0.30
 * `lora/layers/`: `create_lora_weights`, `lora/model_manager.py`: `_create_lora_modules`).
 */
export function adapterSlots(
  server: InferenceServerSettings,
  model: ModelEvidence | undefined,
): AdapterSlots | undefined {
  const { adapters, maxLoraRank: rank, maxLoras: slots = adapters.length } = server;
  if (adapters.length === 0) return undefined;
  if (rank === undefined) return { why: "the rank of its adapters isn't known" };
  const config = model?.cachedConfig ?? model?.config;
  if (config === undefined) return { why: `no config.json of ${server.model.id} is known` };
  const { loraTargetModules: targets } = server;
  const isTarget = ({ names }: Pick<LinearLayer, "names">) =>
    targets === undefined || names.some((name) => targets.includes(name));
  const layers = linearLayers(config, server.tensorParallelSize, isTarget({ names: VOCABULARY }));
  if (typeof layers === "string") return { why: layers };
  const numbers = layers.filter(isTarget).reduce((sum, each) => sum + each.count * each.numbers, 0);
  const each = (NUMBER_BYTES * rank * numbers) / BYTES_PER_GIB;
  return { gib: each * slots, each, rank, slots };
}

/** The linear layers that get slots, or why they aren't known. */
function linearLayers(
  config: unknown,
  tp: number,
  withVocabulary: boolean,
): readonly LinearLayer[] | string {
  const root = objectOr(config);
  const parsed = widthsSchema.safeParse(root.text_config ?? root);
  if (!parsed.success) {
    const fields = parsed.error.issues.map(({ path }) => path.join("."));
    return `its config.json lacks ${[...new Set(fields)].join(" and ")}`;
  }
  try {
    const shape = modelShape(config);
    const mixed = mixers(parsed.data, shape, tp);
    const forward = feedForward(parsed.data, tp);
    const vocabulary = withVocabulary ? embeddings(parsed.data) : [];
    const parts = [mixed, forward, vocabulary];
    const missing = parts.filter((part) => typeof part === "string");
    return missing.length > 0
      ? missing.join("; ")
      : parts.flatMap((part) => (typeof part === "string" ? [] : part));
  } catch (error) {
    if (error instanceof FaultyInput) return "its layers are of a kind that can't be counted";
    throw error;
  }
}

/** Attention, and what stands in its place in a hybrid. */
function mixers(widths: Widths, shape: ModelShape, tp: number): LinearLayer[] | string {
  const { layers, attention, slidingAttention = attention, linear } = shape;
  if (attention.kind !== "heads" || slidingAttention.kind !== "heads")
    return "its attention caches compressed vectors, and such layers can't be counted";
  if (linear !== null && linear.kind !== "gated-delta-net")
    return "it has state-space layers, which can't be counted";
  const kinds = [
    { count: layers.full, heads: attention },
    { count: layers.sliding, heads: slidingAttention },
  ];
  return [
    ...kinds.flatMap(({ count, heads }) => attentionLayers(widths, count, { ...heads, tp })),
    ...deltaLayers(widths, layers.linear, tp),
  ];
}

function attentionLayers(
  widths: Widths,
  count: number,
  {
    kvHeads,
    headDim,
    tp,
  }: { readonly kvHeads: number; readonly headDim: number; readonly tp: number },
): LinearLayer[] {
  const { hidden_size: hidden, num_attention_heads: heads } = widths;
  // A hybrid's attention has a gate beside its queries, unless its config says otherwise (0.30
  // `models/qwen3_next.py`).
  const gated = widths.attn_output_gate ?? widths.linear_num_value_heads != null;
  const query = (heads * headDim) / tp;
  const keys = Math.max(1, kvHeads / tp) * headDim;
  return [
    {
      names: ["qkv_proj", "q_proj", "k_proj", "v_proj"],
      count,
      numbers: 3 * hidden + (gated ? 2 : 1) * query + 2 * keys,
    },
    { names: ["o_proj"], count, numbers: query + hidden },
  ];
}

/** The projections of a gated-deltanet layer (0.30 `layers/mamba/gdn/qwen_gdn_linear_attn.py`). */
function deltaLayers(widths: Widths, count: number, tp: number): LinearLayer[] {
  if (count === 0) return [];
  const { hidden_size: hidden, linear_num_value_heads: valueHeads } = widths;
  const keys = (widths.linear_num_key_heads ?? 0) * (widths.linear_key_head_dim ?? 0);
  const values = (valueHeads ?? 0) * (widths.linear_value_head_dim ?? 0);
  return [
    {
      names: ["in_proj_qkvz", "in_proj_qkv", "in_proj_z"],
      count,
      numbers: 4 * hidden + (2 * keys + 2 * values) / tp,
    },
    {
      names: ["in_proj_ba", "in_proj_b", "in_proj_a"],
      count,
      numbers: 2 * hidden + (2 * (valueHeads ?? 0)) / tp,
    },
    { names: ["out_proj"], count, numbers: values / tp + hidden },
    {
      names: ["conv1d"],
      count,
      numbers: (widths.linear_conv_kernel_dim ?? 0) + (2 * keys + values) / tp,
    },
  ];
}

/** Dense layers, experts with their router, and experts that every token passes. */
function feedForward(widths: Widths, tp: number): LinearLayer[] | string {
  const { hidden_size: hidden, num_hidden_layers: layers, intermediate_size: dense } = widths;
  const experts = widths.num_experts ?? widths.n_routed_experts ?? widths.num_local_experts;
  const denseLayers = (count: number, inner: number): LinearLayer[] => [
    {
      names: ["gate_up_proj", "gate_proj", "up_proj"],
      count,
      numbers: 2 * hidden + (2 * inner) / tp,
    },
    { names: ["down_proj"], count, numbers: inner / tp + hidden },
  ];
  if (experts == null)
    return dense == null ? "its config.json lacks intermediate_size" : denseLayers(layers, dense);
  const inner = widths.moe_intermediate_size ?? dense;
  if (inner == null) return "its config.json lacks moe_intermediate_size";
  if ((widths.decoder_sparse_step ?? 1) > 1) return "not all its layers have experts";
  const whole = widths.first_k_dense_replace ?? widths.mlp_only_layers?.length ?? 0;
  const sparse = layers - whole;
  const shared = widths.shared_expert_intermediate_size ?? (widths.n_shared_experts ?? 0) * inner;
  return [
    ...(whole > 0 ? denseLayers(whole, dense ?? inner) : []),
    {
      names: ["experts"],
      count: sparse,
      // Gate, up and down of each expert, with inputs and outputs of its own.
      numbers: experts * (3 * hidden + (3 * inner) / tp),
    },
    { names: ["gate"], count: sparse, numbers: hidden + experts },
    ...(shared > 0
      ? [
          ...denseLayers(sparse, shared),
          { names: ["shared_expert_gate"], count: sparse, numbers: hidden + 1 },
        ]
      : []),
  ];
}

const VOCABULARY = ["embed_tokens", "lm_head"];

/** Most classes of models take adapters of their vocabulary as well. */
const embeddings = ({ vocab_size: words, hidden_size: hidden }: Widths): LinearLayer[] | string =>
  words == null
    ? "its config.json lacks vocab_size"
    : VOCABULARY.map((name) => ({ names: [name], count: 1, numbers: words + hidden }));

/** The slots in words, for the source of a figure; empty where there are none, or none known. */
export function slotsText(found: AdapterSlots | undefined): string {
  if (found === undefined || "why" in found) return "";
  const { gib, slots, rank } = found;
  return `, and ${gib.toFixed(2)} of ${slots === 1 ? "one slot" : `${slots} slots`} for adapters of rank ${rank} (computed from its config.json)`;
}

/** What the slots take for certain or by computation, in GiB; 0 where that isn't known. */
export const slotsGiB = (found: AdapterSlots | undefined): number =>
  found === undefined || "why" in found ? 0 : found.gib;
