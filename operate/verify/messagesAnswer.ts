import type { ServerEvent } from "./events";
import { type JsonObject, objectOr, objectsIn, parseJson, textOr } from "./json";
import { BadAnswer } from "./probe";

/** An answer of /v1/messages, whole or put together from its stream. */
export interface MessagesAnswer {
  /** Text of all text blocks. */
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly input: JsonObject | string }[];
  /** Types of the blocks in their order. */
  readonly blocks: readonly string[];
  readonly stopReason: string;
  readonly model: string;
}

/** Reads a message. Throws `BadAnswer` when it is none. */
export function messagesAnswer(body: JsonObject): MessagesAnswer {
  if (!Array.isArray(body.content)) throw new BadAnswer("the answer is no message: it has no content[]");
  const blocks = objectsIn(body.content);
  return {
    text: blocks.map((block) => (block.type === "text" ? textOr(block.text) : "")).join(""),
    calls: blocks
      .filter((block) => block.type === "tool_use")
      .map((block) => ({ name: textOr(block.name), input: objectOr(block.input) })),
    blocks: blocks.map((block) => textOr(block.type)),
    stopReason: textOr(body.stop_reason),
    model: textOr(body.model),
  };
}

/** Puts the events of a stream together. Throws `BadAnswer` when it breaks off before `message_stop`. */
export function messagesAnswerOf(events: readonly ServerEvent[]): MessagesAnswer {
  // By the index that the server gives, which may be any number.
  const blocks = new Map<number, { type: string; name: string; text: string }>();
  let stopReason = "";
  let model = "";
  for (const { data } of events) {
    if (data === undefined) continue;
    const index = typeof data.index === "number" ? data.index : 0;
    if (data.type === "message_start") model = textOr(objectOr(data.message).model);
    if (data.type === "content_block_start") {
      const block = objectOr(data.content_block);
      blocks.set(index, { type: textOr(block.type), name: textOr(block.name), text: textOr(block.text) });
    }
    if (data.type === "content_block_delta") {
      const delta = objectOr(data.delta);
      const block = blocks.get(index) ?? { type: "text", name: "", text: "" };
      block.text += textOr(delta.text) + textOr(delta.partial_json);
      blocks.set(index, block);
    }
    if (data.type === "message_delta") stopReason = textOr(objectOr(data.delta).stop_reason) || stopReason;
  }
  if (!events.some(({ data }) => data?.type === "message_stop")) {
    throw new BadAnswer("the stream broke off: there is no message_stop");
  }
  const whole = [...blocks.values()];
  return {
    text: whole.map((block) => (block.type === "text" ? block.text : "")).join(""),
    calls: whole
      .filter((block) => block.type === "tool_use")
      .map((block) => {
        const input = parseJson(block.text === "" ? "{}" : block.text);
        return { name: block.name, input: typeof input === "object" ? objectOr(input) : block.text };
      }),
    blocks: whole.map((block) => block.type),
    stopReason,
    model,
  };
}
