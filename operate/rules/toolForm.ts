import { hasOneQwenParser } from "../../vllm/qwenParsers";

/** Forms in which models write a tool call, and the parsers that read each. */
const FORMS: readonly { readonly form: RegExp; readonly parsers: readonly string[] }[] = [
  { form: /<tool_call>\s*\{/, parsers: ["hermes"] },
  { form: /<function=\w/, parsers: ["qwen3_coder", "qwen3_xml"] },
  { form: /<tool_call>\s*\w+\s*<arg_key>/, parsers: ["glm45", "glm47"] },
  { form: /\[TOOL_CALLS\]/, parsers: ["mistral"] },
  { form: /<\|python_tag\|>/, parsers: ["llama3_json"] },
];

/** The parsers that read a call as the model wrote it; none where the form isn't known. */
export const parsersFor = (written: string): readonly string[] =>
  FORMS.find(({ form }) => form.test(written))?.parsers ?? [];

/**
 * The parser to set for a call that came in this form; `undefined` where the one that is set reads
 * it, or the form isn't known.
 */
export function parserToSet(
  written: string,
  set: string | null,
  vllm: string | undefined,
): string | undefined {
  const parsers = parsersFor(written);
  if (set === null || !parsers.includes(set)) return parsers[0];
  return (hasOneQwenParser(vllm) ?? true) ? undefined : parsers.find((each) => each !== set);
}
