import type { Fault } from "@local-serving/base/faults/fault";
import { type ConfigFields, missingField, unknownArchitecture, wrongCount } from "./configSchema";

/**
 * The state of one layer that keeps no tokens but a summary of constant size: a short convolution's
 * last inputs, and a recurrent matrix for each head.
 */
export interface RecurrentState {
  readonly kind: "gated-delta-net" | "state-space";
  readonly convChannels: number;
  /** Those of them that every device keeps whole. */
  readonly sharedChannels: number;
  readonly convKernel: number;
  readonly recurrentNumbers: number;
  /** Heads that are divided among devices; each count has to divide evenly. */
  readonly heads: readonly number[];
  /**
   * Width of a key head, which decides on the prefill kernel; `null` where there are no key heads.
   */
  readonly keyHeadDim: number | null;
  /** Format that the config asks for the recurrent matrices; `null`: as the convolution's. */
  readonly stateDtype: StateDtype | null;
}

export type StateDtype = "float32" | "float16" | "bfloat16";

/**
 * Number formats of two bytes; the convolution's state has the model's own format, always one of
 * them in vLLM.
 */
const HALF_BYTES = 2;
const FLOAT32_BYTES = 4;

/**
 * Bytes of one layer's state. Source: vLLM 0.28 `mamba_utils.py`, gated_delta_net_state_shape and
 * mamba2_state_shape.
 *
 * @param drafts draft tokens of a step; the convolution remembers one more input for each
 * @param stateDtype `--mamba-ssm-cache-dtype`; `null`: what the config asks for
 */
export function stateBytes(
  state: RecurrentState,
  drafts: number,
  stateDtype: StateDtype | null,
  devices: number,
): number {
  const channels = (state.convChannels - state.sharedChannels) / devices + state.sharedChannels;
  const dtype = stateDtype ?? state.stateDtype;
  const numbers = state.recurrentNumbers / devices;
  const conv = channels * (state.convKernel - 1 + drafts) * HALF_BYTES;
  return conv + numbers * (dtype === "float32" ? FLOAT32_BYTES : HALF_BYTES);
}

const FIELDS = [
  "linear_num_key_heads",
  "linear_num_value_heads",
  "linear_key_head_dim",
  "linear_value_head_dim",
  "linear_conv_kernel_dim",
] as const;

/** Whether the config has all that the state of a gated-delta-net layer depends on. */
export const tellsLinearAttention = (config: ConfigFields): boolean =>
  FIELDS.every((field) => config[field] != null);

export function linearAttention(config: ConfigFields): {
  state: RecurrentState | null;
  faults: Fault[];
} {
  const absent = FIELDS.filter((field) => config[field] == null);
  if (absent.length === FIELDS.length)
    return {
      state: null,
      faults: [
        unknownArchitecture(
          "layer_types",
          `there are linear layers, but no ${FIELDS[0]} and the like to say of which kind.`,
        ),
      ],
    };
  const faults = absent.map((field) =>
    missingField(field, "The size of a linear layer's state depends on it."),
  );
  const figures = FIELDS.map((field) => config[field] ?? 0);
  const [keyHeads = 0, valueHeads = 0, keyWidth = 0, valueWidth = 0, kernel = 0] = figures;
  const dtype = config.mamba_ssm_dtype ?? "auto";
  const state: RecurrentState = {
    kind: "gated-delta-net",
    convChannels: 2 * keyHeads * keyWidth + valueHeads * valueWidth,
    sharedChannels: 0,
    convKernel: kernel,
    recurrentNumbers: valueHeads * valueWidth * keyWidth,
    heads: [keyHeads, valueHeads],
    keyHeadDim: keyWidth,
    stateDtype: dtype === "auto" ? null : dtype,
  };
  return { state, faults };
}

/** The fields that the state of state-space layers (Mamba 2) is sized by. */
const SIZES = [
  "mamba_num_heads",
  "mamba_head_dim",
  "ssm_state_size",
  "n_groups",
  "conv_kernel",
] as const;

/**
 * Fields beside them that change nothing about the cache, and those that say which layers they are.
 */
export const STATE_SPACE_FIELDS: readonly string[] = [
  ...SIZES,
  "mamba_hidden_act",
  "mamba_proj_bias",
  "mamba_ssm_cache_dtype",
  "time_step_floor",
  "time_step_limit",
  "time_step_max",
  "time_step_min",
  "hybrid_override_pattern",
  "layers_block_type",
];

/**
 * What vLLM takes for models with these fields whose config says nothing (vLLM 0.28
 * `models/config.py`).
 */
const DEFAULT_STATE_DTYPE: StateDtype = "float32";

const KINDS: Readonly<Record<string, keyof LayerCounts | "none">> = {
  "*": "full",
  attention: "full",
  M: "linear",
  mamba: "linear",
  "-": "none",
  mlp: "none",
  E: "none",
  moe: "none",
};

/** Whether the fields describe state-space layers in the one way that can be planned. */
export function tellsStateSpace(fields: Readonly<Record<string, unknown>>): boolean {
  const pattern = fields.hybrid_override_pattern ?? fields.layers_block_type;
  return pattern != null && SIZES.every((field) => fields[field] != null);
}

/** The kinds of the layers of such a model: one letter or one word a layer. */
export function stateSpaceLayers(config: ConfigFields): { counts: LayerCounts; faults: Fault[] } {
  const field =
    config.hybrid_override_pattern == null ? "layers_block_type" : "hybrid_override_pattern";
  const pattern = config.hybrid_override_pattern?.split("") ?? config.layers_block_type ?? [];
  const kinds = pattern.map((each) => (Object.hasOwn(KINDS, each) ? KINDS[each] : undefined));
  const faults: Fault[] = [];
  const stranger = kinds.indexOf(undefined);
  if (stranger >= 0)
    faults.push(
      unknownArchitecture(
        field,
        `layer ${stranger + 1} is not one of the kinds ${Object.keys(KINDS).join(" ")}.`,
      ),
    );
  if (pattern.length !== config.num_hidden_layers)
    faults.push(wrongCount(field, pattern.length, config.num_hidden_layers));
  const count = (kind: keyof LayerCounts) => kinds.filter((each) => each === kind).length;
  return { counts: { full: count("full"), sliding: 0, linear: count("linear") }, faults };
}

export function stateSpaceState(config: ConfigFields): RecurrentState {
  const [heads = 0, width = 0, stateSize = 0, groups = 0, kernel = 0] = SIZES.map(
    (field) => config[field] ?? 0,
  );
  const dtype = config.mamba_ssm_cache_dtype ?? DEFAULT_STATE_DTYPE;
  return {
    kind: "state-space",
    convChannels: heads * width + 2 * groups * stateSize,
    // vLLM gives each device a group of its own where there is only one.
    sharedChannels: groups === 1 ? 2 * stateSize : 0,
    convKernel: kernel,
    recurrentNumbers: heads * width * stateSize,
    heads: groups === 1 ? [heads] : [heads, groups],
    keyHeadDim: null,
    stateDtype: dtype === "auto" ? null : dtype,
  };
}

/** How many layers of each kind a model has. */
export interface LayerCounts {
  /** Layers that cache every token. */
  readonly full: number;
  /** Layers that cache a window of the last tokens. */
  readonly sliding: number;
  /** Layers that keep a state of constant size (gated delta net, state space). */
  readonly linear: number;
}
