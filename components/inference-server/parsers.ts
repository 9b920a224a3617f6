import { isRecord } from "@local-serving/base/faults/json";
import type { ModelFamily } from "../settings";

interface Family {
  readonly tool: string;
  /** Only passed for a model with a thinking mode. */
  readonly reasoning?: string;
  /**
   * `model_type` in the config.json of its models; with a `*` where other models have it as well.
   */
  readonly types: readonly string[];
  /** How its models' names begin, in small letters and without the organisation. */
  readonly names: RegExp;
  /** Further parsers that read what its models write. */
  readonly also?: readonly string[];
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
    names: /^qwen3\.[5-9]/,
    also: ["qwen3_xml"],
  },
  "qwen3-coder": {
    tool: "qwen3_coder",
    types: ["qwen3_moe*", "qwen3_next*"],
    names: /^qwen3-coder/,
    also: ["qwen3_xml"],
  },
  // Published recipes name hermes and no reasoning parser.
  "qwen3-next-instruct": { tool: "hermes", types: ["qwen3_next*"], names: /^qwen3-next.*instruct/ },
  "gpt-oss": { tool: "openai", reasoning: "openai_gptoss", types: ["gpt_oss"], names: /^gpt-oss/ },
  // Earlier models of this type have no experts, and other parsers.
  "nemotron-3": {
    tool: "qwen3_coder",
    reasoning: "nemotron_v3",
    types: ["nemotron_h with experts"],
    names: /nemotron-3/,
    also: ["qwen3_xml"],
  },
  "glm-4.5": { tool: "glm45", reasoning: "glm45", types: ["glm4_moe*"], names: /^glm-4\.[56]/ },
  "gemma-4": { tool: "gemma4", reasoning: "gemma4", types: ["gemma4"], names: /^gemma-4/ },
  "llama-4": {
    tool: "llama4_pythonic",
    types: ["llama4"],
    names: /^(?:meta-)?llama-4/,
    also: ["llama4_json", "pythonic"],
  },
};

/**
 * Families that no setting chooses: their models name their parsers, as the recipes of `models/` and
 * vLLM's pages have them.
 */
const OTHERS: readonly Omit<Family, "types">[] = [
  {
    names: /^qwen3-(?!coder|next|omni|asr|tts)/,
    tool: "hermes",
    reasoning: "qwen3",
    also: ["deepseek_r1"],
  },
  { names: /^qwen2(?:\.5)?-/, tool: "hermes" },
  { names: /^(?:meta-)?llama-3/, tool: "llama3_json", also: ["pythonic"] },
  { names: /^(?:mistral|ministral|magistral|devstral)-/, tool: "mistral", reasoning: "mistral" },
  { names: /^deepseek-v4/, tool: "deepseek_v4", reasoning: "deepseek_v4" },
  { names: /^deepseek-v3\.2/, tool: "deepseek_v32", reasoning: "deepseek_v3" },
  { names: /^deepseek-v3\.1/, tool: "deepseek_v31", reasoning: "deepseek_v3" },
  {
    names: /^minimax-m2/,
    tool: "minimax_m2",
    reasoning: "minimax_m2_append_think",
    also: ["minimax_m2"],
  },
  { names: /^glm-(?:4\.7|5)/, tool: "glm47", reasoning: "glm45", also: ["glm47"] },
  { names: /^kimi-k2/, tool: "kimi_k2", reasoning: "kimi_k2" },
  { names: /^step-3\.[57]/, tool: "step3p5", reasoning: "step3p5" },
];

/** Words of models that were made of another family's, and write as their makers taught them. */
const RETRAINED = /distill|hermes|dolphin|tulu|watt|xlam|functionary|toolace|llama.*nemotron/;

/**
 * The parser to write in place of one that reads another family's answers, by the model's name;
 * `undefined` where it may be right, or nobody knows.
 */
export function parserInstead(
  id: string,
  what: "tool" | "reasoning",
  parser: string,
): string | undefined {
  const all = [...Object.values(FAMILIES), ...OTHERS];
  const own = namedOf(id);
  const right = own?.[what];
  const isKnown = all.some((each) => each[what] === parser);
  if (right === undefined || right === parser || !isKnown) return undefined;
  return own?.also?.includes(parser) ? undefined : right;
}

/** The parser of the family that a model's name shows. */
export const parserByName = (id: string, what: "tool" | "reasoning"): string | undefined =>
  namedOf(id)?.[what];

/** The family of a model's name, as far as its parsers go. */
function namedOf(id: string): Omit<Family, "types"> | undefined {
  const name = id.slice(id.lastIndexOf("/") + 1).toLowerCase();
  const all = [...Object.values(FAMILIES), ...OTHERS];
  return RETRAINED.test(name) ? undefined : all.find(({ names }) => names.test(name));
}

/** The family that a model's name says, or the tool parser of one that no setting chooses. */
export function namedFamily(id: string): {
  readonly family?: ModelFamily;
  readonly tool?: string;
} {
  const own = namedOf(id);
  const [family] = families.find(([, each]) => each === own) ?? [];
  if (family !== undefined) return { family };
  return own === undefined ? {} : { tool: own.tool };
}

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
