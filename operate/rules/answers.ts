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
