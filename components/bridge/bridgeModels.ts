import { parse } from "yaml";

/** A name that a LiteLLM configuration answers to, and the model that it sends it to. */
export interface BridgeModel {
  readonly name: string;
  /** Provider prefix and model, `hosted_vllm/model`. */
  readonly model: string;
}

/** The models of a LiteLLM configuration as its text has them; `undefined` when the text is none. */
export function bridgeModels(text: string): BridgeModel[] | undefined {
  let config: unknown;
  try {
    config = parse(text);
  } catch {
    return undefined;
  }
  if (!isMap(config) || !Array.isArray(config.model_list)) return undefined;
  return config.model_list.filter(isMap).map((entry) => ({
    name: String(entry.model_name ?? ""),
    model: isMap(entry.litellm_params) ? String(entry.litellm_params.model ?? "") : "",
  }));
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
