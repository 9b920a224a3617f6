import type { Fault } from "../../../faults/fault";
import type { ConfigFields } from "./configSchema";
import { missingField, unknownArchitecture } from "./unplanned";

/** The state of one gated-delta-net layer: a short convolution's last inputs and a recurrent matrix for each head. */
export interface LinearAttention {
  readonly keyHeads: number;
  readonly valueHeads: number;
  readonly keyHeadDim: number;
  readonly valueHeadDim: number;
  readonly convKernel: number;
  /** Format that the config asks for the recurrent state; `null`: as the convolution's. */
  readonly stateDtype: StateDtype | null;
}

export type StateDtype = "float32" | "float16" | "bfloat16";

const FIELDS = [
  "linear_num_key_heads",
  "linear_num_value_heads",
  "linear_key_head_dim",
  "linear_value_head_dim",
  "linear_conv_kernel_dim",
] as const;

/** Number formats of two bytes; the convolution's state has the model's own format, always one of them in vLLM. */
const HALF_BYTES = 2;
const FLOAT32_BYTES = 4;

/** The linear layers' shape, or what is missing for it. */
export function linearAttention(config: ConfigFields): { linear: LinearAttention | null; faults: Fault[] } {
  const absent = FIELDS.filter((field) => config[field] == null);
  if (absent.length === FIELDS.length) {
    const why = `there are linear layers, but no ${FIELDS[0]} and the like to say of which kind.`;
    return { linear: null, faults: [unknownArchitecture("layer_types", why)] };
  }
  const faults = absent.map((field) =>
    missingField(field, "The size of a linear layer's state depends on it."),
  );
  const dtype = config.mamba_ssm_dtype ?? "auto";
  return {
    linear: {
      keyHeads: config.linear_num_key_heads ?? 0,
      valueHeads: config.linear_num_value_heads ?? 0,
      keyHeadDim: config.linear_key_head_dim ?? 0,
      valueHeadDim: config.linear_value_head_dim ?? 0,
      convKernel: config.linear_conv_kernel_dim ?? 0,
      stateDtype: dtype === "auto" ? null : dtype,
    },
    faults,
  };
}

/**
 * Bytes of one layer's state. Source: vLLM 0.28 `mamba_utils.py`, gated_delta_net_state_shape.
 *
 * @param drafts draft tokens of a step; the convolution remembers one more input for each
 * @param stateDtype `--mamba-ssm-cache-dtype`; `null`: what the config asks for
 */
export function stateBytes(linear: LinearAttention, drafts: number, stateDtype: StateDtype | null): number {
  const convWidth = 2 * linear.keyHeads * linear.keyHeadDim + linear.valueHeads * linear.valueHeadDim;
  const conv = convWidth * (linear.convKernel - 1 + drafts) * HALF_BYTES;
  const recurrent = linear.valueHeads * linear.valueHeadDim * linear.keyHeadDim;
  const dtype = stateDtype ?? linear.stateDtype;
  return conv + recurrent * (dtype === "float32" ? FLOAT32_BYTES : HALF_BYTES);
}
