import { isRecord } from "../../faults/json";
import type { ModelFamily } from "../settings/model";

interface Family {
  readonly tool: string;
  /** Only passed for a model with a thinking mode. */
  readonly reasoning?: string;
  /**
   * `model_type` in the config.json of its models; with a `*` where other models have it as well.
   */
  readonly types: readonly string[];
}

/**
 * Parsers by model family, from vLLM's registry and the families' published recipes. `qwen3_coder`
 * and `qwen3_xml` are two parsers up to vLLM 0.23 and one class from 0.24 on.
 */
const FAMILIES: Readonly<Record<Exclude<ModelFamily, "other">, Family>> = {
  qwen3: {
    tool: "qwen3_coder",
    reasoning: "qwen3",
    types: ["qwen3_5", "qwen3_5_moe", "qwen4_exp"],
  },
  "qwen3-coder": { tool: "qwen3_coder", types: ["qwen3_moe*", "qwen3_next*"] },
  // Published recipes name hermes and no reasoning parser.
  "qwen3-next-instruct": { tool: "hermes", types: ["qwen3_next*"] },
  "gpt-oss": { tool: "openai", reasoning: "openai_gptoss", types: ["gpt_oss"] },
  // Earlier models of this type have no experts, and other parsers.
  "nemotron-3": {
    tool: "qwen3_coder",
    reasoning: "nemotron_v3",
    types: ["nemotron_h with experts"],
  },
  "glm-4.5": { tool: "glm45", reasoning: "glm45", types: ["glm4_moe*"] },
  "gemma-4": { tool: "gemma4", reasoning: "gemma4", types: ["gemma4"] },
  "llama-4": { tool: "llama4_pythonic", types: ["llama4"] },
};
const families = Object.entries(FAMILIES) as readonly [ModelFamily, Family][];

/** The kind of model that a config.json tells of; `undefined` where it doesn't say. */
function modelType(config: unknown): string | undefined {
  if (!isRecord(config) || typeof config.model_type !== "string") return undefined;
  const { layers_block_type: layers, hybrid_override_pattern: pattern } = config;
  const experts =
    String(pattern).includes("E") || (Array.isArray(layers) && layers.includes("moe"));
  return config.model_type.replace(/_text$/, "") + (experts ? " with experts" : "");
}

/**
 * A model's family by its config.json; `undefined` where models of several families have such a
 * config, or none is known.
 */
export function familyOf(config: unknown): ModelFamily | undefined {
  const type = modelType(config);
  return type === undefined
    ? undefined
    : families.find(([, { types }]) => types.includes(type))?.[0];
}

/**
 * Says which family a config.json names if it isn't the declared one: `model_type qwen3_5_moe is of
 * qwen3`.
 */
export function otherFamily(
  declared: ModelFamily | undefined,
  config: unknown,
): string | undefined {
  const type = modelType(config);
  if (type === undefined || declared === undefined || declared === "other") return undefined;
  const fitting = families.filter(
    ([, { types }]) => types.includes(type) || types.includes(`${type}*`),
  );
  if (fitting.some(([family]) => family === declared)) return undefined;
  const names = fitting.map(([family]) => family).join(" or ");
  return `model_type ${type} is ${names === "" ? "of no family with known parsers" : `of ${names}`}`;
}

/** The tool parser to pass, or `undefined` when the family has none that is known. */
export function toolParserFor(family: ModelFamily = "other", setting: string): string | undefined {
  if (setting !== "auto") return setting;
  return family === "other" ? undefined : FAMILIES[family].tool;
}

/**
 * The reasoning parser to pass; never one for a model without a thinking mode, unless the operator
 * names it.
 */
export function reasoningParserFor(
  family: ModelFamily = "other",
  thinking: boolean,
  setting: string,
): string | undefined {
  if (setting !== "auto") return setting;
  return thinking && family !== "other" ? FAMILIES[family].reasoning : undefined;
}

/** The parsers that a family's models get where none is named. */
export function familyParsers(family: ModelFamily, thinking: boolean) {
  return {
    tool: toolParserFor(family, "auto"),
    reasoning: reasoningParserFor(family, thinking, "auto"),
  };
}
