import { type JsonObject, objectOr, objectsIn, textOr } from "@local-serving/base/faults/json";
import { Misfit, quote } from "../../sees/answer";
import type { ServerEvent } from "../../sees/api";

/** Judges one event behind those before it: why it doesn't fit, or nothing. */
type Judge = (data: JsonObject) => string | undefined;

/** What ends a stream, and what else may stand behind it. */
const DONE = "[DONE]";

/**
 * Throws `Misfit` with the first event of a stream that doesn't fit those before it. Events of kinds
 * that nobody knows are passed over.
 */
function inOrder(events: readonly ServerEvent[], judge: Judge): void {
  for (const [at, { event, data, raw }] of events.entries()) {
    if (raw === DONE) continue;
    if (data === undefined && at === events.length - 1)
      throw new Misfit(`the stream broke off in the middle of event ${at + 1}`);
    const why = data === undefined ? "is no JSON object" : (otherName(event, data) ?? judge(data));
    if (why === undefined) continue;
    const name = event ?? textOr(data?.type);
    const shown = name === "" ? "" : `, \`${quote(name)}\`,`;
    throw new Misfit(`event ${at + 1} of the stream${shown} ${why}`);
  }
}

const otherName = (event: string | undefined, { type }: JsonObject): string | undefined =>
  event === undefined || type === undefined || event === type
    ? undefined
    : `holds data of type \`${quote(String(type))}\``;

/** Chat: nothing is added once a choice has ended, and the end is the last. */
export function chatOrder(events: readonly ServerEvent[]): void {
  let ended = false;
  inOrder(events, ({ choices }) => {
    const [choice] = objectsIn(choices);
    if (choice === undefined) return undefined;
    const { content, reasoning, tool_calls } = objectOr(choice.delta);
    const adds = textOr(content) + textOr(reasoning) !== "" || objectsIn(tool_calls).length > 0;
    if (ended && adds) return "adds to an answer that a finish_reason has ended";
    const ends = textOr(choice.finish_reason) !== "";
    if (ended && ends) return "has a second finish_reason";
    ended ||= ends;
    return undefined;
  });
  const done = events.findIndex(({ raw }) => raw === DONE);
  if (done >= 0 && done < events.length - 1)
    throw new Misfit(`event ${done + 2} of the stream stands behind ${DONE}`);
}

/** Which deltas belong into a block of the messages API. */
const DELTAS: Readonly<Record<string, readonly string[]>> = {
  text: ["text_delta", "citations_delta"],
  thinking: ["thinking_delta", "signature_delta"],
  tool_use: ["input_json_delta"],
};

/** The block of a message that its events are in. */
interface Blocks {
  open?: { readonly index: unknown; readonly type: string };
  /** Index of the next block. */
  next: number;
}

/** Why an event doesn't belong into the block that is open. */
function outOfBlock({ open }: Blocks, { index, delta }: JsonObject): string | undefined {
  if (open === undefined) return `stands in no block (index ${String(index)})`;
  if (index !== open.index)
    return `has the index ${String(index)}, but block ${String(open.index)} is open`;
  const type = textOr(objectOr(delta).type);
  const fitting = DELTAS[open.type];
  return delta === undefined || fitting === undefined || fitting.includes(type)
    ? undefined
    : `a \`${quote(type)}\`, stands in block ${String(index)}, which is of type ${open.type}`;
}

const tooEarly = ({ open }: Blocks): string | undefined =>
  open === undefined ? undefined : `comes before block ${String(open.index)} has ended`;

/** What each event of a message does to its blocks, and why it may not. */
const IN_MESSAGE: Readonly<
  Record<string, (blocks: Blocks, data: JsonObject) => string | undefined>
> = {
  message_start: () => undefined,
  content_block_start: (blocks, { index, content_block }) => {
    const why = tooEarly(blocks);
    if (why !== undefined) return why;
    if (index !== blocks.next) return `has the index ${String(index)} where ${blocks.next} is next`;
    blocks.open = { index, type: textOr(objectOr(content_block).type) };
    return undefined;
  },
  content_block_delta: outOfBlock,
  content_block_stop: (blocks, { index }) => {
    const why = outOfBlock(blocks, { index });
    delete blocks.open;
    blocks.next += 1;
    return why;
  },
  message_delta: tooEarly,
  message_stop: tooEarly,
};

/** Messages: blocks one after the other by their index, each delta in a block of its kind. */
export function messagesOrder(events: readonly ServerEvent[]): void {
  const blocks: Blocks = { next: 0 };
  let [started, stopped] = [false, false];
  inOrder(events, (data) => {
    const type = textOr(data.type);
    const judge = IN_MESSAGE[type];
    if (judge === undefined) return undefined;
    if (started === (type === "message_start"))
      return started ? "comes twice" : "comes before message_start";
    if (stopped) return "comes behind message_stop";
    started = true;
    stopped = type === "message_stop";
    return judge(blocks, data);
  });
}

/** Responses: numbered events, and each part in an item that was added and isn't done. */
export function responsesOrder(events: readonly ServerEvent[]): void {
  const open = new Set<unknown>();
  let number: number | undefined;
  let ended = false;
  inOrder(events, ({ type, sequence_number: next, output_index }) => {
    if (ended) return "comes behind the end of the response";
    if (typeof next === "number") {
      if (number !== undefined && next !== number + 1)
        return `has the number ${next} behind ${number}`;
      number = next;
    }
    ended = type === "response.completed" || type === "response.incomplete";
    return output_index === undefined ? undefined : itemFault(open, type, output_index);
  });
}

/** Why an event doesn't fit the items that are open; it opens or closes its own. */
function itemFault(open: Set<unknown>, type: unknown, index: unknown): string | undefined {
  const item = `item ${String(index)}`;
  if (type === "response.output_item.added") {
    if (open.has(index)) return `adds ${item}, which is open already`;
    open.add(index);
    return undefined;
  }
  if (!open.has(index)) return `belongs to ${item}, which was not added`;
  if (type === "response.output_item.done") open.delete(index);
  return undefined;
}
