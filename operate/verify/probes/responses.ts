import type { ServerEvent } from "../events";
import { type JsonObject, objectOr, objectsIn, textOr } from "../json";
import { BadAnswer, fail, pass, type ServerProbe, type Verdict } from "../probe";
import { answerTokens, GREETING } from "../prompts";
import { quote } from "../quote";
import type { ServerTarget } from "../targets";
import { callFault, holdsCallAsText, READ_FILE, responsesTool, TOOL_REQUEST } from "../tools";
import { chatOnly } from "./completions";
import { modelName } from "./models";

const RESPONSES = "/v1/responses";

async function request(target: ServerTarget, input: unknown, more: JsonObject = {}) {
  return {
    model: await modelName(target),
    input,
    max_output_tokens: answerTokens(target.maxModelLen, false),
    temperature: 0,
    // What comes back is all that counts, so a thinking model is told not to.
    ...(target.server.model.thinking ? { chat_template_kwargs: { enable_thinking: false } } : {}),
    ...more,
  };
}

const turn = (role: string, text: string) => ({
  type: "message",
  role,
  content: [{ type: "input_text", text }],
});

/** What a Responses-style agent sends: a developer turn, a user turn, a function tool, nothing stored; thinking as it is. */
const agentRequest = (target: ServerTarget) =>
  request(target, [turn("developer", "You are a coding agent."), turn("user", TOOL_REQUEST)], {
    tools: [responsesTool(READ_FILE)],
    tool_choice: "auto",
    store: false,
    include: ["reasoning.encrypted_content"],
    max_output_tokens: answerTokens(target.maxModelLen, target.server.model.thinking),
    chat_template_kwargs: {},
  });

const fix = () =>
  "A Responses-style agent can't use this server: it needs a vLLM that answers /v1/responses (inferenceServers.*.image).";

const responses: ServerProbe = {
  name: "responses",
  about: "POST /v1/responses answers a short input",
  skip: chatOnly,
  fix,
  run: async (target) => said(await target.api.json(RESPONSES, await request(target, GREETING))),
};

const responsesStream: ServerProbe = {
  name: "responses-stream",
  about: "the same streamed, to its completed event",
  skip: chatOnly,
  fix,
  run: async (target) => {
    const events = await target.api.stream(RESPONSES, await request(target, GREETING));
    const deltas = events.filter(({ event }) => event === "response.output_text.delta");
    if (deltas.length === 0) return fail("the stream holds no text (no response.output_text.delta)", fix());
    return said(completed(events));
  },
};

const responsesDeveloper: ServerProbe = {
  name: "responses-developer",
  about: "POST /v1/responses takes a turn of role developer",
  skip: chatOnly,
  fix: ({ setting }) => `The model's template refuses the role: see ${setting("chatTemplate")}.`,
  run: async (target) => {
    const input = [turn("developer", "Answer in one word."), turn("user", GREETING)];
    return said(await target.api.json(RESPONSES, await request(target, input, { store: false })));
  },
};

const responsesTools: ServerProbe = {
  name: "responses-tools",
  about: "POST /v1/responses with a function tool: a function_call item",
  skip: chatOnly,
  fix,
  run: async (target) => called(await target.api.json(RESPONSES, await agentRequest(target)), target),
};

const responsesToolsStream: ServerProbe = {
  name: "responses-tools-stream",
  about: "the same streamed",
  skip: chatOnly,
  fix,
  run: async (target) =>
    called(completed(await target.api.stream(RESPONSES, await agentRequest(target))), target),
};

/** The response in the event that ends a stream. Throws `BadAnswer` when the stream breaks off before it. */
function completed(events: readonly ServerEvent[]): JsonObject {
  const last = events.find(({ event }) => event === "response.completed" || event === "response.incomplete");
  if (last?.data === undefined) {
    throw new BadAnswer(
      `the stream broke off: its last event is \`${quote(events.at(-1)?.event ?? events.at(-1)?.raw ?? "")}\`, not response.completed`,
    );
  }
  return objectOr(last.data.response);
}

function outputText(response: JsonObject): string {
  return objectsIn(response.output)
    .filter((item) => item.type === "message")
    .flatMap((item) => objectsIn(item.content).map((part) => textOr(part.text)))
    .join("");
}

function said(response: JsonObject): Verdict {
  const text = outputText(response);
  if (text.trim() !== "") return pass(`\`${quote(text)}\``);
  const types = objectsIn(response.output).map((item) => textOr(item.type));
  return fail(
    `the output holds no text (status ${quote(textOr(response.status))}, items: ${types.map(quote).join(", ") || "none"})`,
    fix(),
  );
}

function called(response: JsonObject, { setting }: ServerTarget): Verdict {
  const call = objectsIn(response.output).find((item) => item.type === "function_call");
  const parser = `${setting("tools.autoChoice")}: true and ${setting("tools.parser")}: the parser of the model's family.`;
  if (call === undefined) {
    const text = outputText(response);
    return fail(
      holdsCallAsText(text)
        ? `no function_call item, the call stands as text: \`${quote(text)}\``
        : `no function_call item; it said \`${quote(text)}\``,
      parser,
    );
  }
  const fault = callFault([READ_FILE], textOr(call.name), textOr(call.arguments));
  return fault === undefined
    ? pass(`${textOr(call.name)}(${quote(textOr(call.arguments))})`)
    : fail(fault, parser);
}

export const responsesProbes: readonly ServerProbe[] = [
  responses,
  responsesStream,
  responsesDeveloper,
  responsesTools,
  responsesToolsStream,
];
