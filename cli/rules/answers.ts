import { jsonIn } from "@local-serving/base/faults/json";
import { hasOneQwenParser } from "@local-serving/vllm/qwenParsers";

/** Where chats are asked for, in the form that most clients use. */
export const CHAT_PATH = "/v1/chat/completions";

/** Beginnings of a tool call that a parser missed, in the formats of the known model families. */
const CALL_AS_TEXT =
  /<tool_call>|<function=|<function_calls?>|<invoke |<parameter=|<tool_use>|<\|tool_call/;

/** Whether a text holds a tool call that should have been structured. */
export const holdsCallAsText = (text: string): boolean => CALL_AS_TEXT.test(text);

/** Marks between which a model thinks. */
const THINK_MARK = /<\/?think(?:ing)?>/;

/** Whether a text holds such a mark, which a parser leaves there, or writes. */
export const holdsThinkMark = (text: string): boolean => THINK_MARK.test(text);

/** Whether thoughts stand in a text: what comes before the mark of their end. */
export function holdsThoughts(text: string): boolean {
  const before = text.split(/<\/think(?:ing)?>/).slice(0, -1);
  return (
    before
      .join("")
      .replace(/<think(?:ing)?>/g, "")
      .trim() !== ""
  );
}

/** What is said of an answer that holds neither the call that was asked for nor a text. */
export const SWALLOWED = "the tool parser swallowed the call";

/** Words of the APIs for an answer that was cut off. */
const CUT_OFF = ["length", "max_tokens", "incomplete"];

/** Whether an answer was cut off, by the word for its end. */
export const isCutOff = (stop: string): boolean => CUT_OFF.includes(stop);

/** Forms in which models write a tool call, and the parsers that read each. */
const FORMS: readonly Form[] = [
  {
    form: /<tool_call>\s*\{/,
    parsers: ["hermes"],
    whole: /<tool_call>\s*(\{[\s\S]*?\})\s*<\/tool_call>/,
  },
  {
    form: /<function=\w/,
    parsers: ["qwen3_coder", "qwen3_xml"],
    whole:
      /<function=\w[^<>]*>\s*(?:<parameter=\w[^<>]*>(?:(?!<\/parameter>)[\s\S])*<\/parameter>\s*)*<\/function>/,
  },
  {
    form: /<tool_call>\s*\w+\s*<arg_key>/,
    parsers: ["glm45", "glm47"],
    whole:
      /<tool_call>\s*\w+\s*(?:<arg_key>(?:(?!<\/arg_value>)[\s\S])*<\/arg_value>\s*)*<\/tool_call>/,
  },
  { form: /\[TOOL_CALLS\]/, parsers: ["mistral"], whole: /\[TOOL_CALLS\]/ },
  { form: /<\|python_tag\|>/, parsers: ["llama3_json"], whole: /<\|python_tag\|>/ },
];

interface Form {
  readonly form: RegExp;
  readonly parsers: readonly string[];
  /** A call from its beginning to its end; what its first group holds is JSON. */
  readonly whole: RegExp;
}

/** Whether a call is as its form wants it. */
export function isWholeCall(written: string): boolean {
  const [, json] = FORMS.find(({ form }) => form.test(written))?.whole.exec(written) ?? ["", null];
  if (json === null) return false;
  return json === undefined || jsonIn(json) !== undefined;
}

/** Fewest tokens of a call: the name of a tool and an argument. */
export const SHORTEST_CALL = 5;

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
