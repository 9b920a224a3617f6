import { type JsonObject, objectOr, objectsIn, textOr } from "@local-serving/base/faults/json";
import { BadAnswer, Misfit } from "../../sees/answer";
import type { ServerEvent } from "../../sees/api";
import { AGENT_TOOLS, GREETING, type OfferedTool } from "../tools";
import { messagesOrder } from "./order";
import { type Answer, partsText, type Surface, thinkingSwitch, tokenCount } from "./surface";

/**
 * Messages, asked as Claude Code does: the system text as a list of blocks, one of them marked for
 * the cache, metadata, tools with input_schema. Without the billing header, which our settings
 * switch off.
 */
export const MESSAGES: Surface = {
  name: "messages",
  path: "/v1/messages",
  tools: AGENT_TOOLS,
  agentThinks: true,
  ask: ({ model, maxTokens, turns = GREETING, tools = [], thinking, more }) => ({
    model,
    max_tokens: maxTokens,
    temperature: 0,
    system: [
      { type: "text", text: "You are a coding agent." },
      {
        type: "text",
        text: "Work with the tools that are offered. Be brief.",
        cache_control: { type: "ephemeral" },
      },
    ],
    messages: typeof turns === "string" ? [userTurn(turns)] : turns,
    ...thinkingSwitch(thinking),
    metadata: { user_id: "serving-verify" },
    ...(tools.length === 0 ? {} : { tools: tools.map(messagesTool), ...AGENT_FIELDS }),
    ...more,
  }),
  read: (body) => {
    if (!Array.isArray(body.content))
      throw new BadAnswer("the answer is not a message: it has no content[]");
    const blocks = objectsIn(body.content).map((block) => ({
      ...blockOf(block),
      // A part that is missing or of another kind reads as an empty object.
      arguments: JSON.stringify(objectOr(block.input)),
    }));
    return answerOf(blocks, textOr(body.stop_reason), objectOr(body.usage));
  },
  readStream,
  callStop: "tool_use",
  words: { noCall: "no tool_use block", text: "the text", reasoning: "a thinking block" },
};

/**
 * What Claude Code 2.1 sends with every request that has tools, seen in a run: it leaves the
 * thinking to the model, asks for much effort and keeps its earlier thoughts. A server that refuses
 * one of these is of no use to it.
 */
const AGENT_FIELDS: JsonObject = {
  thinking: { type: "adaptive" },
  output_config: { effort: "high" },
  context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
};

export const userTurn = (text: string) => ({ role: "user", content: [{ type: "text", text }] });

export const messagesTool = ({ name, description, parameters }: OfferedTool) => ({
  name,
  description,
  input_schema: parameters,
});

type Block = ReturnType<typeof blockOf>;

const blockOf = ({ type, name, text, thinking }: JsonObject) => ({
  type: textOr(type),
  name: textOr(name),
  text: textOr(text),
  thinking: textOr(thinking),
  arguments: "",
});

/** The blocks that the events of a stream make. */
function readStream(events: readonly ServerEvent[]): Answer {
  messagesOrder(events);
  // By the index that the server gives, which may be any number.
  const blocks = new Map<number, Block>();
  let stop = "";
  let usage: JsonObject = {};
  for (const { data = {} } of events) {
    const index = typeof data.index === "number" ? data.index : 0;
    if (data.type === "content_block_start")
      blocks.set(index, blockOf(objectOr(data.content_block)));
    if (data.type === "content_block_delta") {
      const delta = objectOr(data.delta);
      const block = blocks.get(index) ?? blockOf({ type: "text" });
      block.text += textOr(delta.text);
      block.thinking += textOr(delta.thinking);
      block.arguments += textOr(delta.partial_json);
      blocks.set(index, block);
    }
    // The count of the prompt comes with the start, that of the answer with the end.
    usage = { ...usage, ...objectOr(objectOr(data.message).usage), ...objectOr(data.usage) };
    if (data.type === "message_delta") stop = textOr(objectOr(data.delta).stop_reason) || stop;
  }
  if (!events.some(({ data }) => data?.type === "message_stop"))
    throw new Misfit("the stream broke off: there is no message_stop");
  return answerOf([...blocks.values()], stop, usage);
}

function answerOf(blocks: readonly Block[], stop: string, usage: JsonObject): Answer {
  const ofType = (type: string) => blocks.filter((block) => block.type === type);
  const joined = (type: "text" | "thinking") =>
    ofType(type)
      .map((block) => block[type])
      .join("");
  const types = blocks.map((block) => block.type);
  return {
    text: joined("text"),
    reasoning: joined("thinking"),
    calls: ofType("tool_use").map((block) => ({
      name: block.name,
      arguments: block.arguments || "{}",
    })),
    stop,
    shape: `stop_reason ${stop}, ${partsText("blocks", types)}`,
    tokens: {
      prompt: tokenCount(usage.input_tokens),
      completion: tokenCount(usage.output_tokens),
    },
  };
}
