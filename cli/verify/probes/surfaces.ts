import { jsonIn, objectOr, textOr } from "@local-serving/base/faults/json";
import { holdsThinkMark, holdsThoughts, isCutOff } from "../../rules/answers";
import { toWrite } from "../../rules/rule";
import { quote } from "../../sees/answer";
import { refusalText } from "../../sees/api";
import { UNKNOWN_TIER } from "../../sees/log/scanLog";
import { fail, pass } from "../probe";
import { CHAT } from "../surfaces/chat";
import { MESSAGES, userTurn } from "../surfaces/messages";
import { agentTurns, RESPONSES } from "../surfaces/responses";
import type { Surface } from "../surfaces/surface";
import type { ProbesOf, ServerTarget } from "../target";
import {
  answerTokens,
  GREETING,
  LIST_FOLDER,
  READ_FILE,
  RUN_COMMAND,
  TOOL_REQUEST,
} from "../tools";
import {
  answerOf,
  asAgent,
  asItSays,
  chatOnly,
  cutOff,
  questionOf,
  servedModels,
  thinkingOnly,
} from "./asking";
import { judgeCall, judgeText, parserFix, type Settings } from "./judging";

type ServerProbes = ProbesOf<"inference-server">;
type ServerProbe = ServerProbes[number];
const responsesFix = ({ setting }: Settings) =>
  `Where it answers 404, this vLLM has no /v1/responses, and Responses-style agents need another (${setting("image")}); else its answer says why.`;
const messagesFix = ({ setting }: Settings) =>
  `Where it answers 404, this vLLM has no such API: it needs 0.26 or later (${setting("image")}). Until it works keep clients.claudeCode.via: bridge.`;
const SEVERAL = [RUN_COMMAND, LIST_FOLDER, READ_FILE];

/** Four probes of an API: an answer in text and a tool call, each whole and streamed. */
function probesOf(surface: Surface, fix: (target: ServerTarget) => string) {
  const { name, path, tools, agentThinks } = surface;
  const text = (streamed: boolean): ServerProbe => ({
    name: streamed ? `${name}-stream` : name,
    about: `POST ${path} ${streamed ? "streams text to its end" : "answers with text"}`,
    skip: chatOnly,
    fix,
    run: async (target) => {
      const question = await questionOf(target);
      const answer = await answerOf(target, surface, question, streamed);
      const { model = "" } = answer;
      if (model !== "" && ![question.model, ...target.server.serve.names].includes(model))
        return fail(
          `asked for \`${question.model}\`, it answers as \`${quote(model)}\``,
          "A proxy between client and server sends requests elsewhere or rewrites names.",
        );
      if (!streamed || answer.tokens.completion !== 0) return judgeText(answer, target);
      const meter = "Clients count tokens by it: see the server's version.";
      return fail("the stream ended without the usage that was asked for", meter);
    },
  });
  const call = (streamed: boolean): ServerProbe => ({
    name: `${name}-tools${streamed ? "-stream" : ""}`,
    about: `POST ${path} with a tool: the call is structured${streamed ? ", streamed too" : ""}`,
    skip: chatOnly,
    fix: surface === CHAT ? parserFix : fix,
    run: async (target) => {
      const question = { turns: TOOL_REQUEST, tools, ...(agentThinks ? asAgent(target) : {}) };
      return judgeCall(surface, tools, await answerOf(target, surface, question, streamed), target);
    },
  });
  return [text(false), text(true), call(false), call(true)] as const;
}

const [chat, chatStream, chatTools, chatToolsStream] = probesOf(CHAT, asItSays);
const [responses, responsesStream, responsesTools, responsesToolsStream] = probesOf(
  RESPONSES,
  responsesFix,
);

const LARGER = "Which is larger, 9.9 or 9.11? Answer with the number.";

const parserAuto = ({ setting }: Settings) =>
  `${toWrite(`${setting("reasoningParser")}: auto`)}. It takes the family's parser.`;

/** An answer of a model whose thinking is switched on or off. */
const thoughtOf = (target: ServerTarget, thinking: boolean) =>
  answerOf(target, CHAT, {
    turns: LARGER,
    maxTokens: answerTokens(target.maxModelLen, true, target.moreTokens),
    thinking,
  });

export const chatProbes: ServerProbes = [
  chat,
  chatStream,
  {
    name: "chat-tool-result",
    about: "POST /v1/chat/completions goes on after a tool's result",
    skip: chatOnly,
    fix: asItSays,
    run: async (target) => {
      const call = { name: READ_FILE.name, arguments: '{"path":"/etc/hostname"}' };
      const turns = [
        { role: "user", content: "What is in /etc/hostname?" },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "call_1", type: "function", function: call }],
        },
        { role: "tool", tool_call_id: "call_1", content: "spark-1" },
      ];
      return judgeText(await answerOf(target, CHAT, { turns, tools: [READ_FILE] }), target);
    },
  },
  chatTools,
  chatToolsStream,
  {
    name: "chat-several-tools",
    about: "several tools: the one that was asked for is called",
    skip: chatOnly,
    fix: parserFix,
    run: async (target) => {
      const answer = await answerOf(target, CHAT, { turns: TOOL_REQUEST, tools: SEVERAL });
      const verdict = judgeCall(CHAT, SEVERAL, answer, target);
      if (verdict.status !== "pass" || answer.calls.some((call) => call.name === READ_FILE.name))
        return verdict;
      const fix = `The call is structured, but the model chose another tool: try ${target.setting("tools.parser")} of its family, or another model.`;
      return fail(`asked for \`${READ_FILE.name}\` it called \`${answer.calls[0]?.name}\``, fix);
    },
  },
  {
    name: "chat-tools-thinking",
    about: "a tool call while the model thinks",
    skip: thinkingOnly,
    fix: parserFix,
    run: async (target) => {
      const tools = [READ_FILE];
      const question = { turns: TOOL_REQUEST, tools, ...asAgent(target), thinking: true };
      return judgeCall(CHAT, tools, await answerOf(target, CHAT, question), target);
    },
  },
  {
    name: "thinking-on",
    about: "with thinking on, the thoughts are in `reasoning` and the answer in `content`",
    skip: thinkingOnly,
    fix: ({ setting }) =>
      `See ${setting("reasoningParser")} (auto takes the family's) and ${setting("model.thinking")}.`,
    run: async (target) => {
      const answer = await thoughtOf(target, true);
      const { text, reasoning } = answer;
      if (isCutOff(answer.stop)) return cutOff(answer);
      if (holdsThinkMark(text)) {
        return fail(`the thoughts are in \`content\`: \`${quote(text)}\``, parserAuto(target));
      }
      if (reasoning === "") return fail("`reasoning` is empty with thinking on");
      if (text.trim() === "") return fail("there are thoughts, but no answer after them");
      return pass(`${reasoning.length} characters of reasoning, then \`${quote(text)}\``);
    },
  },
  {
    name: "thinking-off",
    about: "with `enable_thinking: false`, there are no thoughts",
    skip: thinkingOnly,
    fix: ({ setting }) => `The model's template decides: see ${setting("chatTemplate")}.`,
    run: async (target) => {
      const answer = await thoughtOf(target, false);
      const { text, reasoning } = answer;
      if (isCutOff(answer.stop)) return cutOff(answer);
      if (reasoning.trim() !== "" || holdsThoughts(text)) {
        const fix = `The template ignores \`enable_thinking\`: see ${target.setting("chatTemplate")}, and set no \`disable_thinking\` in the harness's profile.`;
        return fail(`it thinks with thinking off: \`${quote(reasoning || text)}\``, fix);
      }
      if (holdsThinkMark(text))
        return fail(`a mark of thoughts is in \`content\`: \`${quote(text)}\``, parserAuto(target));
      return text.trim() === "" ? fail("the answer is empty") : pass(`\`${quote(text)}\``);
    },
  },
];

export const responsesProbes: ServerProbes = [
  responses,
  responsesStream,
  {
    name: "responses-developer",
    about: "POST /v1/responses takes a turn of role developer",
    skip: chatOnly,
    fix: ({ setting }) => `The model's template refuses the role: see ${setting("chatTemplate")}.`,
    run: async (target) => {
      const turns = agentTurns("Answer in one word.", GREETING);
      return judgeText(
        await answerOf(target, RESPONSES, { turns, more: { store: false } }),
        target,
      );
    },
  },
  responsesTools,
  responsesToolsStream,
];

const COUNT = `${MESSAGES.path}/count_tokens`;

export const messagesProbes: ServerProbes = [
  ...probesOf(MESSAGES, messagesFix),
  {
    name: "count-tokens",
    about: `POST ${COUNT} counts tokens, and more for a longer text`,
    skip: chatOnly,
    fix: messagesFix,
    run: async (target) => {
      const { model } = await questionOf(target);
      const count = async (text: string) =>
        Number((await target.api.json(COUNT, { model, messages: [userTurn(text)] })).input_tokens);
      const short = await count("one two");
      const long = await count("one two three four five six seven eight");
      if (short > 0 && long > short) return pass(`${short} tokens, then ${long}`);
      return fail(`it counted ${short} tokens in two words and ${long} in eight`);
    },
  },
  {
    name: "alias",
    about: "an alias is answered, under the canonical name",
    skip: (target) =>
      chatOnly(target) ?? (target.aliases.length > 0 ? undefined : "no alias is declared"),
    fix: ({ setting }) => `${setting("servedModelName")} and ${setting("aliases")} set the names.`,
    run: async (target) => {
      const [asked = ""] = target.aliases;
      const canonical = textOr((await servedModels(target.api))[0]?.id);
      const body = MESSAGES.ask(await questionOf(target, { model: asked }));
      const answer = await target.api.json(MESSAGES.path, body);
      MESSAGES.read(answer);
      const name = textOr(answer.model);
      if (name === canonical && name !== "")
        return pass(`asked for \`${asked}\`, it answers as \`${quote(name)}\``);
      const fix = `The first name is the canonical one: ${target.setting("servedModelName")}. A proxy between client and server may rewrite names.`;
      return fail(
        `asked for \`${asked}\`, it answers as \`${quote(name)}\` and not as \`${quote(canonical)}\``,
        fix,
      );
    },
  },
  {
    name: "unknown-tier",
    about: "a model that is not served is refused with 404",
    skip: chatOnly,
    fix: () => "Clients must be told of a wrong name. A proxy may be answering in vLLM's place.",
    run: async (target) => {
      const body = MESSAGES.ask(await questionOf(target, { model: UNKNOWN_TIER }));
      const answer = await target.api.post(MESSAGES.path, body);
      const message = textOr(objectOr(objectOr(jsonIn(answer.text)).error).message);
      if (answer.status === 404 && message.includes(UNKNOWN_TIER))
        return pass(`404: ${quote(message)}`);
      const fix =
        "vLLM answers 404 and names the model; pin all model variables of the client (clients.claudeCode).";
      return fail(
        `asked for \`${UNKNOWN_TIER}\` it answered ${answer.status}: ${refusalText(answer)}`,
        fix,
      );
    },
  },
];
