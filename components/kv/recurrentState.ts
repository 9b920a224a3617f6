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
