import type { ModelFamily } from "../settings/model";

interface Parsers {
  readonly tool: string;
  /** Only passed for a model with a thinking mode. */
  readonly reasoning?: string;
}

/**
 * Parsers by model family, from vLLM's registry and the families' published recipes. `qwen3_coder` and `qwen3_xml` are
 * two parsers up to vLLM 0.23 and one class from 0.24 on.
 */
const PARSERS: Readonly<Record<Exclude<ModelFamily, "other">, Parsers>> = {
  qwen3: { tool: "qwen3_coder", reasoning: "qwen3" },
  "qwen3-coder": { tool: "qwen3_coder" },
  // Published recipes name hermes and no reasoning parser.
  "qwen3-next-instruct": { tool: "hermes" },
  "gpt-oss": { tool: "openai", reasoning: "openai_gptoss" },
  "nemotron-3": { tool: "qwen3_coder", reasoning: "nemotron_v3" },
  "glm-4.5": { tool: "glm45", reasoning: "glm45" },
  "gemma-4": { tool: "gemma4", reasoning: "gemma4" },
  "llama-4": { tool: "llama4_pythonic" },
};

/** The tool parser to pass, or `undefined` when the family has none that is known. */
export function toolParser(family: ModelFamily, setting: string): string | undefined {
  if (setting !== "auto") return setting;
  return family === "other" ? undefined : PARSERS[family].tool;
}

/** The reasoning parser to pass; never one for a model without a thinking mode, unless the operator names it. */
export function reasoningParser(family: ModelFamily, thinking: boolean, setting: string): string | undefined {
  if (setting !== "auto") return setting;
  return thinking && family !== "other" ? PARSERS[family].reasoning : undefined;
}
