import type { Fault } from "../../faults/fault";
import { type ConfigFields, missingField, unknownArchitecture } from "./configSchema";

/**
 * The state of one layer that keeps no tokens but a summary of constant size: a short convolution's last inputs, and
 * a recurrent matrix for each head.
 */
export interface RecurrentState {
  readonly kind: "gated-delta-net" | "state-space";
  readonly convChannels: number;
  readonly convKernel: number;
  readonly recurrentNumbers: number;
  /** Heads that are divided among devices; each count has to divide evenly. */
  readonly heads: readonly number[];
  /** Width of a key head, which decides on the prefill kernel; `null` where there are no key heads. */
  readonly keyHeadDim: number | null;
  /** Format that the config asks for the recurrent matrices; `null`: as the convolution's. */
  readonly stateDtype: StateDtype | null;
}

export type StateDtype = "float32" | "float16" | "bfloat16";

/** Number formats of two bytes; the convolution's state has the model's own format, always one of them in vLLM. */
const HALF_BYTES = 2;
const FLOAT32_BYTES = 4;

/**
 * Bytes of one layer's state. Source: vLLM 0.28 `mamba_utils.py`, gated_delta_net_state_shape and mamba2_state_shape.
 *
 * @param drafts draft tokens of a step; the convolution remembers one more input for each
 * @param stateDtype `--mamba-ssm-cache-dtype`; `null`: what the config asks for
 */
export function stateBytes(state: RecurrentState, drafts: number, stateDtype: StateDtype | null): number {
  const conv = state.convChannels * (state.convKernel - 1 + drafts) * HALF_BYTES;
  const dtype = stateDtype ?? state.stateDtype;
  return conv + state.recurrentNumbers * (dtype === "float32" ? FLOAT32_BYTES : HALF_BYTES);
}

const FIELDS = [
  "linear_num_key_heads",
  "linear_num_value_heads",
  "linear_key_head_dim",
  "linear_value_head_dim",
  "linear_conv_kernel_dim",
] as const;

/** Whether the config has all that the state of a gated-delta-net layer depends on. */
export const tellsLinearAttention = (config: ConfigFields): boolean => FIELDS.every((field) => config[field] != null);

export function linearAttention(config: ConfigFields): { state: RecurrentState | null; faults: Fault[] } {
  const absent = FIELDS.filter((field) => config[field] == null);
  const noKind = `there are linear layers, but no ${FIELDS[0]} and the like to say of which kind.`;
  if (absent.length === FIELDS.length) return { state: null, faults: [unknownArchitecture("layer_types", noKind)] };
  const faults = absent.map((field) => missingField(field, "The size of a linear layer's state depends on it."));
  const figures = FIELDS.map((field) => config[field] ?? 0);
  const [keyHeads = 0, valueHeads = 0, keyWidth = 0, valueWidth = 0, kernel = 0] = figures;
  const dtype = config.mamba_ssm_dtype ?? "auto";
  const state: RecurrentState = {
    kind: "gated-delta-net",
    convChannels: 2 * keyHeads * keyWidth + valueHeads * valueWidth,
    convKernel: kernel,
    recurrentNumbers: valueHeads * valueWidth * keyWidth,
    heads: [keyHeads, valueHeads],
    keyHeadDim: keyWidth,
    stateDtype: dtype === "auto" ? null : dtype,
  };
  return { state, faults };
}
