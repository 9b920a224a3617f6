import type { Fault } from "../../faults/fault";
import type { ConfigFields } from "./configSchema";
import type { RecurrentState } from "./recurrentState";
import { missingField, unknownArchitecture } from "./shapeFaults";

const FIELDS = [
  "linear_num_key_heads",
  "linear_num_value_heads",
  "linear_key_head_dim",
  "linear_value_head_dim",
  "linear_conv_kernel_dim",
] as const;

/** Whether the config has all that the state of a gated-delta-net layer depends on. */
export function tellsLinearAttention(config: ConfigFields): boolean {
  return FIELDS.every((field) => config[field] != null);
}

export function linearAttention(config: ConfigFields): { state: RecurrentState | null; faults: Fault[] } {
  const absent = FIELDS.filter((field) => config[field] == null);
  if (absent.length === FIELDS.length) {
    const why = `there are linear layers, but no ${FIELDS[0]} and the like to say of which kind.`;
    return { state: null, faults: [unknownArchitecture("layer_types", why)] };
  }
  const faults = absent.map((field) =>
    missingField(field, "The size of a linear layer's state depends on it."),
  );
  const [keyHeads = 0, valueHeads = 0, keyWidth = 0, valueWidth = 0, kernel = 0] = FIELDS.map(
    (field) => config[field] ?? 0,
  );
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
