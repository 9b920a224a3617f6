import { describe, expect, it } from "vitest";
import { chatOrder, messagesOrder, responsesOrder } from "../../../cli/verify/surfaces/order";

type Data = Readonly<Record<string, unknown>>;

/** Events as they are sent, the standard's end as `[DONE]`. */
const events = (...all: readonly (Data | string)[]) =>
  all.map((each) =>
    typeof each === "string"
      ? { event: undefined, data: undefined, raw: each }
      : { event: undefined, data: each, raw: JSON.stringify(each) },
  );

const delta = (content: string) => ({ choices: [{ delta: { content }, finish_reason: null }] });
const END = { choices: [{ delta: {}, finish_reason: "stop" }] };
const USAGE = { choices: [], usage: {} };

describe("the events of a chat", () => {
  it.each([
    ["in order", [delta("a"), END, USAGE, "[DONE]"], undefined],
    [
      "two ends",
      [delta("a"), END, END, "[DONE]"],
      "event 3 of the stream has a second finish_reason",
    ],
    [
      "more behind the end",
      [END, delta("b"), "[DONE]"],
      "event 2 of the stream adds to an answer that a finish_reason has ended",
    ],
    ["something behind all", [END, "[DONE]", USAGE], "event 3 of the stream stands behind [DONE]"],
    ["no JSON", [delta("a"), "{", END], "event 2 of the stream is no JSON object"],
    ["cut", [delta("a"), "{"], "the stream broke off in the middle of event 2"],
  ])("%s", (_, all, misfit) => {
    const judged = () => chatOrder(events(...all));
    if (misfit === undefined) expect(judged).not.toThrow();
    else expect(judged).toThrow(misfit);
  });
});

const START = { type: "message_start", message: {} };
const STOP = { type: "message_stop" };
const open = (index: number, type = "text") => ({
  type: "content_block_start",
  index,
  content_block: { type },
});
const add = (index: number, type = "text_delta") => ({
  type: "content_block_delta",
  index,
  delta: { type },
});
const close = (index: number) => ({ type: "content_block_stop", index });

describe("the events of a message", () => {
  it.each([
    [
      "in order",
      [
        START,
        { type: "ping" },
        open(0, "thinking"),
        add(0, "thinking_delta"),
        add(0, "signature_delta"),
        close(0),
        open(1, "tool_use"),
        add(1, "input_json_delta"),
        close(1),
        { type: "message_delta" },
        STOP,
        "[DONE]",
      ],
      undefined,
    ],
    [
      "thoughts in a block of text",
      [START, open(0), add(0, "thinking_delta")],
      "event 3 of the stream, `content_block_delta`, a `thinking_delta`, stands in block 0, which is of type text",
    ],
    [
      "another index",
      [START, open(0), add(1)],
      "event 3 of the stream, `content_block_delta`, has the index 1, but block 0 is open",
    ],
    [
      "a block too many",
      [START, open(0), open(1)],
      "event 3 of the stream, `content_block_start`, comes before block 0 has ended",
    ],
    ["no start", [open(0)], "comes before message_start"],
    ["a block left out", [START, open(1)], "has the index 1 where 0 is next"],
    [
      "more behind the end",
      [START, STOP, STOP],
      "event 3 of the stream, `message_stop`, comes behind message_stop",
    ],
  ])("%s", (_, all, misfit) => {
    const judged = () => messagesOrder(events(...all));
    if (misfit === undefined) expect(judged).not.toThrow();
    else expect(judged).toThrow(misfit);
  });
});

const at = (sequence_number: number, type: string, output_index?: number) => ({
  type: `response.${type}`,
  sequence_number,
  ...(output_index === undefined ? {} : { output_index }),
});

describe("the events of a response", () => {
  it.each([
    [
      "in order",
      [
        at(0, "created"),
        at(1, "output_item.added", 0),
        at(2, "output_text.delta", 0),
        at(3, "output_item.done", 0),
        at(4, "completed"),
      ],
      undefined,
    ],
    [
      "a number twice",
      [at(0, "created"), at(0, "in_progress")],
      "event 2 of the stream, `response.in_progress`, has the number 0 behind 0",
    ],
    [
      "an item that was never added",
      [at(0, "created"), at(1, "output_text.delta", 0)],
      "event 2 of the stream, `response.output_text.delta`, belongs to item 0, which was not added",
    ],
    [
      "more behind the end",
      [at(0, "completed"), at(1, "output_text.delta", 0)],
      "comes behind the end of the response",
    ],
  ])("%s", (_, all, misfit) => {
    const judged = () => responsesOrder(events(...all));
    if (misfit === undefined) expect(judged).not.toThrow();
    else expect(judged).toThrow(misfit);
  });

  it("name what they hold", () => {
    const [first] = events({ type: "response.created" });
    const other = [{ ...first, event: "response.completed", raw: "", data: first?.data }];
    expect(() => responsesOrder(other)).toThrow("holds data of type `response.created`");
  });
});
