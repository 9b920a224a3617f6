import { hasOneQwenParser, ONE_QWEN_PARSER, QWEN_PARSERS } from "@local-serving/vllm/qwenParsers";
import { toolParserFor } from "../../../components/inference-server";
import type { InferenceServerSettings } from "../../../components/settings";
import { vllmOf } from "../../../components/supply";
import type { LogReading } from "../../sees/log/scanLog";
import { STARTED_WITH, sign, startSign } from "../../sees/log/sign";
import { SWALLOWED } from "../answers";
import { type Server, seen } from "../picture";
import { APPLY, type Row } from "../rule";

/** An answer, which may lack the field where it is empty, or what `serving verify` says of one. */
const NO_CALLS = sign(
  ["tool_calls", "finish_reason"],
  /\btool_calls\\?["']?\s*[:=]\s*(?:\[\s*\]|null|None)|\btool_calls\b.{0,30}\bempty\b|^(?!.*\btool_calls\b).*\bfinish_reason\b/,
);
/** A whole answer without a text, a thought or a call; the parser took what it could not read. */
const NOTHING_SAID = sign(
  ["finish_reason", SWALLOWED],
  new RegExp(
    `^(?!.*"tool_calls"\\s*:\\s*\\[\\s*\\{)(?!.*"reasoning(?:_content)?"\\s*:\\s*").*"content"\\s*:\\s*(?:null|"").*"finish_reason"\\s*:\\s*"stop"|${SWALLOWED}`,
  ),
);
/** A whole answer that is all thought. */
const ONLY_THOUGHTS = sign(
  ["finish_reason", "no text, only reasoning"],
  /^(?!.*"tool_calls"\s*:\s*\[\s*\{)(?=.*"reasoning(?:_content)?"\s*:\s*"[^"]).*"content"\s*:\s*(?:null|"").*"finish_reason"\s*:\s*"stop"|no text, only reasoning \((?:finish_reason stop|status completed|stop_reason end_turn)/,
);
const XML_IN_CONTENT = sign(
  ["<tool_call", "<function=", "XML in "],
  /\bcontent\\?["']?\s*[:=]\s*\\?["'](?:[^"\\]|\\.){0,4000}?<(?:tool_call|function=)|\bXML in `?content\b/,
);
const XML_IN_REASONING = sign(
  ["<tool_call", "<function=", "XML in "],
  /\breasoning(?:_content)?\\?["']?\s*[:=]\s*\\?["'](?:[^"\\]|\\.){0,4000}?<(?:tool_call|function=)|\bXML in `?reasoning\b/,
);
/** The form of the call tells the parser: JSON inside is hermes', named functions are qwen3's. */
const HERMES_FORM = sign("<tool_call", /<tool_call>(?:\s|\\n)*\{/);

/** What vLLM writes of a call that its tool parser can't read, before it hands it on as text. */
const PARSER_RAISED = sign(
  ["Error in extracting tool call", "Error trying to handle streaming tool call"],
  /\[(\w+?)_tool_parser\.py:\d+\] Error (?:in extracting tool call from response|trying to handle streaming tool call)/,
);

const VERIFY_TOOLS = `${APPLY} && serving verify --only chat-tools,chat-tools-stream,chat-several-tools`;

/** The tool parser that vLLM says it was started with. */
const STARTED_WITH_PARSER = sign("'tool_call_parser': '", /'tool_call_parser': '(\w+)'/);

/** Whether a name is that of the draft model, by the stack file or by what vLLM was started with. */
function isDraft(name: string, { hits }: LogReading, settings?: InferenceServerSettings): boolean {
  const args = hits.get(STARTED_WITH)?.groups[0] ?? "";
  const drafts = /'speculative_config': (\{[^}]*\})/.exec(args)?.[1] ?? "";
  return (
    drafts.includes(`'${name}'`) ||
    JSON.stringify(settings?.speculative ?? {}).includes(`"${name}"`)
  );
}

/** A parser's name as its module writes it: `qwen3_coder` is in `qwen3coder_tool_parser.py`. */
const plain = (parser: string) => parser.replaceAll("_", "");

/** What to do about calls that a parser, as its module is called, failed at. */
function unreadCalls(parser: string, { settings, set }: Server) {
  const declared = settings?.tools?.parser;
  const own = toolParserFor(settings?.model?.family, "auto");
  const cause = `The tool parser (${parser}) fails on the calls that this model writes: clients get them as text.`;
  const wanted = own ?? declared;
  if (wanted !== undefined && !plain(wanted).startsWith(plain(parser))) {
    const value = wanted === declared ? declared : "auto";
    return { cause, edits: [set(["tools", "parser"], value)], command: VERIFY_TOOLS };
  }
  return {
    cause,
    advice: "Look at what the model writes, and set `tools.parser` to the parser that reads it.",
    command: VERIFY_TOOLS,
  };
}

/** What the engine makes of a model: its drafts, the parsers of its answers. */
export const model: readonly Row[] = [
  {
    id: "draft-unusable",
    when: startSign(
      ["Unsupported speculative method", "Invalid repository ID or local directory specified"],
      /Unsupported speculative method: '(\S+)'|Invalid repository ID or local directory specified: '(\S+)'/,
    ),
    // The same words name the model itself, or the folder that it is in.
    unless: ({ hit, server }) =>
      hit.groups[1] !== "" && !isDraft(hit.groups[1] ?? "", hit.log, server.settings),
    say: ({ hit: { groups }, server }) => ({
      cause: groups[0]
        ? `This model has no drafts for the method ${groups[0]}.`
        : `There is no model ${groups[1]}, neither in the cache nor in a folder.`,
      edits: [server.set(["speculative"], undefined)],
      advice: "Speculative decoding only saves time: without it the server starts.",
    }),
  },
  {
    id: "tool-parser-mismatch",
    when: [PARSER_RAISED, NOTHING_SAID, XML_IN_CONTENT],
    say({ picture, server }) {
      const raised = seen(picture, PARSER_RAISED)?.groups[0];
      if (raised !== undefined) return unreadCalls(raised, server);
      const swallowed = seen(picture, NOTHING_SAID) !== undefined;
      if (!swallowed && seen(picture, NO_CALLS) === undefined) return undefined;
      const { tools, model } = server.settings ?? {};
      if (tools?.autoChoice === false)
        return {
          cause: "Tool calls are left as text because automatic tool choice is off.",
          edits: [server.set(["tools", "autoChoice"], true)],
        };
      const planned = tools && model && toolParserFor(model.family, tools.parser);
      const parser = seen(picture, STARTED_WITH_PARSER)?.groups[0] ?? planned;
      const hermes = seen(picture, HERMES_FORM) !== undefined;
      const version = server.settings && vllmOf(server.settings);
      const isOneParser = hasOneQwenParser(version) ?? false;
      const own = planned !== undefined && QWEN_PARSERS.includes(planned) ? planned : "qwen3_coder";
      const wanted = hermes ? "hermes" : isOneParser ? own : "qwen3_xml";
      const cause = `The model's tool calls ${swallowed ? "never came" : "came as text"}: the tool parser${parser === undefined ? "" : ` (${parser})`} does not read the form in which this model writes them.`;
      if (isOneParser && !hermes && parser !== undefined && QWEN_PARSERS.includes(parser))
        return {
          cause,
          advice: `No setting to change: from vLLM ${ONE_QWEN_PARSER} on both qwen3 names are one parser. Either the server runs with another parser than the stack file has (apply it), or the model's chat template writes calls in another form.`,
          command: VERIFY_TOOLS,
        };
      return {
        cause,
        edits: [server.set(["tools", "parser"], wanted)],
        command: VERIFY_TOOLS,
      };
    },
  },
  {
    id: "reasoning-parser-intercepts",
    when: [XML_IN_REASONING, ONLY_THOUGHTS],
    say: ({ picture, server }) =>
      seen(picture, NO_CALLS) && {
        cause: `The reasoning parser takes the model's ${seen(picture, XML_IN_REASONING) === undefined ? "answers" : "tool calls"} for reasoning: this model has no thinking mode.`,
        edits: [server.set(["model", "thinking"], false), server.set(["reasoningParser"], "auto")],
        advice: "`auto` passes no reasoning parser at all for a model without a thinking mode.",
        command: VERIFY_TOOLS,
      },
  },
];
