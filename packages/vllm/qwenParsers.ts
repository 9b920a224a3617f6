import { gte, valid } from "@renovatebot/pep440";

/** The two names of the parser for Qwen's tool calls. */
export const QWEN_PARSERS: readonly string[] = ["qwen3_coder", "qwen3_xml"];

/** First vLLM in which `qwen3_coder` and `qwen3_xml` are one class. */
export const ONE_QWEN_PARSER = "0.24.0";

/** Whether a version has one parser under both names; `undefined` where nobody knows the version. */
export function hasOneQwenParser(version: string | undefined): boolean | undefined {
  if (version === undefined || valid(version) === null) return undefined;
  return gte(version, ONE_QWEN_PARSER);
}
