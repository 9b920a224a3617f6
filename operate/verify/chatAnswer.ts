import type { ServerEvent } from "./events";
import { isJsonObject, type JsonObject, objectOr, objectsIn, textOr } from "./json";
import { BadAnswer } from "./probe";

/** An answer of chat completions, whole or put together from its stream. */
export interface ChatAnswer {
  readonly content: string;
  readonly reasoning: string;
  readonly calls: readonly { readonly name: string; readonly arguments: string }[];
  readonly finishReason: string;
  readonly model: string;
  /** 0 where the answer says nothing of it. */
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** Reads `choices[0].message`. Throws `BadAnswer` when there is none. */
export function chatAnswer(body: JsonObject): ChatAnswer {
  const choice = objectsIn(body.choices)[0];
  if (!isJsonObject(choice?.message)) {
    throw new BadAnswer("the answer has no choices[0].message");
  }
  const { message } = choice;
  return {
    content: textOr(message.content),
    reasoning: reasoningOf(message),
    calls: objectsIn(message.tool_calls).map((call) => {
      const { name, arguments: given } = objectOr(call.function);
      return { name: textOr(name), arguments: textOr(given) };
    }),
    finishReason: textOr(choice.finish_reason),
    model: textOr(body.model),
    ...usageOf(body),
  };
}

/** Puts the chunks of a stream together. Throws `BadAnswer` when it breaks off before its end. */
export function chatAnswerOf(events: readonly ServerEvent[]): ChatAnswer {
  // By the index that the server gives, which may be any number.
  const calls = new Map<number, { name: string; arguments: string }>();
  const answer = {
    content: "",
    reasoning: "",
    finishReason: "",
    model: "",
    promptTokens: 0,
    completionTokens: 0,
  };
  for (const { data } of events) {
    if (data === undefined) continue;
    answer.model ||= textOr(data.model);
    if (typeof data.usage === "object" && data.usage !== null) Object.assign(answer, usageOf(data));
    const choice = objectsIn(data.choices)[0];
    if (choice === undefined) continue;
    answer.finishReason ||= textOr(choice.finish_reason);
    const delta = objectOr(choice.delta);
    answer.content += textOr(delta.content);
    answer.reasoning += reasoningOf(delta);
    for (const part of objectsIn(delta.tool_calls)) {
      const index = typeof part.index === "number" ? part.index : 0;
      const call = calls.get(index) ?? { name: "", arguments: "" };
      const { name, arguments: given } = objectOr(part.function);
      call.name += textOr(name);
      call.arguments += textOr(given);
      calls.set(index, call);
    }
  }
  if (events.at(-1)?.raw !== "[DONE]")
    throw new BadAnswer("the stream broke off: it did not end with [DONE]");
  if (answer.finishReason === "") throw new BadAnswer("the stream named no finish_reason");
  return { ...answer, calls: [...calls.values()] };
}

/** Text in the field for reasoning, by its present name and by its older one. */
function reasoningOf(part: JsonObject): string {
  return textOr(part.reasoning) || textOr(part.reasoning_content);
}

function usageOf(body: JsonObject) {
  const usage = objectOr(body.usage);
  const count = (value: unknown) => (typeof value === "number" ? value : 0);
  return { promptTokens: count(usage.prompt_tokens), completionTokens: count(usage.completion_tokens) };
}
