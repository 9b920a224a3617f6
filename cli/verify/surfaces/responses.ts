import { type JsonObject, objectOr, objectsIn, textOr } from "@local-serving/base/faults/json";
import { Misfit, quote } from "../../sees/answer";
import type { ServerEvent } from "../../sees/api";
import { GREETING, type OfferedTool, READ_FILE } from "../tools";
import { responsesOrder } from "./order";
import { type Answer, partsText, type Surface, thinkingSwitch, tokenCount } from "./surface";

/**
 * Responses. A request with tools is an agent's: a developer turn, a user turn, function tools,
 * nothing stored.
 */
export const RESPONSES: Surface = {
  name: "responses",
  path: "/v1/responses",
  tools: [READ_FILE],
  agentThinks: true,
  ask: ({ model, maxTokens, turns = GREETING, tools = [], thinking, more }) => ({
    model,
    input:
      typeof turns === "string" && tools.length > 0
        ? agentTurns("You are a coding agent.", turns)
        : turns,
    max_output_tokens: maxTokens,
    temperature: 0,
    ...thinkingSwitch(thinking),
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map(toolOf),
          tool_choice: "auto",
          store: false,
          include: ["reasoning.encrypted_content"],
        }),
    ...more,
  }),
  read,
  readStream,
  words: { noCall: "no function_call item", text: "the text", reasoning: "the reasoning" },
};

/** A developer's turn and a user's. */
export function agentTurns(developer: string, user: string): JsonObject[] {
  const turn = (role: string, text: string) => ({
    type: "message",
    role,
    content: [{ type: "input_text", text }],
  });
  return [turn("developer", developer), turn("user", user)];
}

const toolOf = ({ name, description, parameters }: OfferedTool) => ({
  type: "function",
  name,
  description,
  parameters,
  strict: false,
});

function read(body: JsonObject): Answer {
  const items = objectsIn(body.output);
  const textIn = (type: string) =>
    items
      .filter((item) => item.type === type)
      .flatMap((item) => objectsIn(item.content).map((part) => textOr(part.text)))
      .join("");
  const stop = textOr(body.status);
  const usage = objectOr(body.usage);
  const types = items.map((item) => textOr(item.type));
  return {
    text: textIn("message"),
    reasoning: textIn("reasoning"),
    calls: items
      .filter((item) => item.type === "function_call")
      .map((item) => ({ name: textOr(item.name), arguments: textOr(item.arguments) })),
    stop,
    shape: `status ${stop}, ${partsText("items", types)}`,
    tokens: {
      prompt: tokenCount(usage.input_tokens),
      completion: tokenCount(usage.output_tokens),
    },
  };
}

/** The response in the event that ends a stream. Its text must have come in pieces, too. */
function readStream(events: readonly ServerEvent[]): Answer {
  responsesOrder(events);
  const last = events.find(
    ({ event }) => event === "response.completed" || event === "response.incomplete",
  );
  if (last?.data === undefined) {
    const { event, raw = "" } = events.at(-1) ?? {};
    throw new Misfit(
      `the stream broke off: its last event is \`${quote(event ?? raw)}\`, not response.completed`,
    );
  }
  const answer = read(objectOr(last.data.response));
  if (answer.text !== "" && !events.some(({ event }) => event === "response.output_text.delta"))
    throw new Misfit("the stream holds no text (no response.output_text.delta)");
  return answer;
}
