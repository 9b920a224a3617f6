import { isRecord } from "@local-serving/base/faults/json";
import type { ModelShape } from "@local-serving/kv";
import type { ModelClass } from "../../planned/schema";

const EXPERTS = ["num_experts", "n_routed_experts", "num_local_experts", "moe_intermediate_size"];

/**
 * The kind of a model by its config.json; `undefined` where a config that was cut down doesn't say
 * whether its layers have experts.
 */
export function classOf(
  { attention, linear }: ModelShape,
  config: unknown,
): ModelClass | undefined {
  if (attention.kind !== "heads") return "mla";
  if (linear !== null) return "hybrid";
  const root = isRecord(config) ? config : {};
  const text = isRecord(root.text_config) ? root.text_config : root;
  const named = [root.architectures, text.architectures, text.model_type].flat();
  if (named.some((name) => /moe/i.test(String(name)))) return "moe";
  if (EXPERTS.some((field) => typeof text[field] === "number")) return "moe";
  return typeof text.intermediate_size === "number" ? "dense" : undefined;
}
