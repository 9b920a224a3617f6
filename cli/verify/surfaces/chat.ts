import {
  isRecord,
  type JsonObject,
  objectOr,
  objectsIn,
  textOr,
} from "@local-serving/base/faults/json";
import { CHAT_PATH } from "../../rules/answers";
import { BadAnswer, Misfit } from "../../sees/answer";
import type { ServerEvent } from "../../sees/api";
import { GREETING, type OfferedTool, READ_FILE } from "../tools";
import { chatOrder } from "./order";
import { type Answer, type Surface, thinkingSwitch, tokenCount } from "./surface";

export const CHAT: Surface = {
  name: "chat",
  path: CHAT_PATH,
  tools: [READ_FILE],
  agentThinks: false,
  ask: ({ model, maxTokens, turns = GREETING, tools = [], thinking, more }) => ({
    model,
    messages: typeof turns === "string" ? [{ role: "user", content: turns }] : turns,
    max_tokens: maxTokens,
    temperature: 0,
    ...thinkingSwitch(thinking),
    ...(tools.length === 0 ? {} : { tools: tools.map(toolOf), tool_choice: "auto" }),
    ...more,
  }),
  read,
  readStream: (events) => read(whole(events)),
  streamed: { stream_options: { include_usage: true } },
  words: { noCall: "tool_calls is empty", text: "`content`", reasoning: "`reasoning`" },
};

const toolOf = ({ name, description, parameters }: OfferedTool) => ({
  type: "function",
  function: { name, description, parameters },
});

function read(body: JsonObject): Answer {
  const choice = objectsIn(body.choices)[0];
  if (!isRecord(choice?.message)) throw new BadAnswer("the answer has no choices[0].message");
  const { message, finish_reason } = choice;
  const usage = objectOr(body.usage);
  const stop = textOr(finish_reason);
  return {
    text: textOr(message.content),
    reasoning: reasoningOf(message),
    calls: objectsIn(message.tool_calls).map(callOf),
    stop,
    model: textOr(body.model),
    shape: `finish_reason ${stop}`,
    tokens: {
      prompt: tokenCount(usage.prompt_tokens),
      completion: tokenCount(usage.completion_tokens),
    },
  };
}

/** The answer that the chunks of a stream make. */
function whole(events: readonly ServerEvent[]): JsonObject {
  chatOrder(events);
  // By the index that the server gives, which may be any number.
  const calls = new Map<number, { name: string; arguments: string }>();
  let [content, reasoning, finish_reason, usage]: [string, string, string, JsonObject] = [
    "",
    "",
    "",
    {},
  ];
  for (const { data = {} } of events) {
    if (isRecord(data.usage)) usage = data.usage;
    const choice = objectOr(objectsIn(data.choices)[0]);
    finish_reason ||= textOr(choice.finish_reason);
    const delta = objectOr(choice.delta);
    content += textOr(delta.content);
    reasoning += reasoningOf(delta);
    for (const part of objectsIn(delta.tool_calls)) {
      const index = typeof part.index === "number" ? part.index : 0;
      const call = calls.get(index) ?? { name: "", arguments: "" };
      const more = callOf(part);
      calls.set(index, { name: call.name + more.name, arguments: call.arguments + more.arguments });
    }
  }
  if (events.at(-1)?.raw !== "[DONE]")
    throw new Misfit("the stream broke off: it did not end with [DONE]");
  if (finish_reason === "") throw new Misfit("the stream named no finish_reason");
  const tool_calls = [...calls.values()].map((call) => ({ function: call }));
  return { choices: [{ message: { content, reasoning, tool_calls }, finish_reason }], usage };
}

function callOf(call: JsonObject) {
  const { name, arguments: given } = objectOr(call.function);
  return { name: textOr(name), arguments: textOr(given) };
}

/** Text in the field for reasoning, by its present name and by its older one. */
const reasoningOf = (part: JsonObject): string =>
  textOr(part.reasoning) || textOr(part.reasoning_content);
