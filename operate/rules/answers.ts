import { hasOneQwenParser } from "../../vllm/qwenParsers";

/** Where chats are asked for, in the form that most clients use. */
export const CHAT_PATH = "/v1/chat/completions";

/** Beginnings of a tool call that a parser missed, in the formats of the known model families. */
const CALL_AS_TEXT =
  /<tool_call>|<function=|<function_calls?>|<invoke |<parameter=|<tool_use>|<\|tool_call/;

/** Whether a text holds a tool call that should have been structured. */
export const holdsCallAsText = (text: string): boolean => CALL_AS_TEXT.test(text);

/** What is said of an answer that holds neither the call that was asked for nor a text. */
export const SWALLOWED = "the tool parser swallowed the call";

/** Words of the APIs for an answer that was cut off. */
const CUT_OFF = ["length", "max_tokens", "incomplete"];

/** Whether an answer was cut off, by the word for its end. */
export const isCutOff = (stop: string): boolean => CUT_OFF.includes(stop);

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
