import { gte, valid } from "@renovatebot/pep440";
import { toolParser } from "../../../components/inference-server/parsers";
import { APPLY, type Diagnosis } from "../diagnosis";
import { seen, serverOf } from "../evidence";
import { sign, startSign } from "../sign";

/** First vLLM in which `qwen3_coder` and `qwen3_xml` are one class. */
const ONE_QWEN_PARSER = "0.24.0";

/** An answer, or what `serving verify` says of one. */
const NO_CALLS = sign(
  "tool_calls",
  /\btool_calls\\?["']?\s*[:=]\s*(?:\[\s*\]|null|None)|\btool_calls\b.{0,30}\bempty\b/,
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

const UNKNOWN_PARSER = startSign(
  ["invalid tool call parser", "invalid reasoning parser"],
  /invalid (tool call|reasoning) parser: (\S+?) \(cho/,
);
const NO_PARSER = startSign("--enable-auto-tool-choice requires --tool-call-parser");
const THINK_IN_CONTENT = sign("</think>", /"content"\s*:\s*"(?:[^"\\]|\\.)*<\/think>/);

const toolParserMismatch: Diagnosis = {
  id: "tool-parser-mismatch",
  source: 'specification, Errors: "`tool_calls: []` with XML in `content`"; vllm-project/vllm #22975',
  caughtBy: "`serving verify`; the plan can't know what a model prints",
  signs: [NO_CALLS, XML_IN_CONTENT, XML_IN_REASONING, HERMES_FORM],
  judge(evidence) {
    const hit = seen(evidence, XML_IN_CONTENT);
    if (hit === undefined || seen(evidence, NO_CALLS) === undefined) return undefined;
    const server = serverOf(evidence, hit.log);
    const { tools, model, versions } = server.settings ?? {};
    const parser =
      tools === undefined || model === undefined ? undefined : toolParser(model.family, tools.parser);
    const hermes = seen(evidence, HERMES_FORM) !== undefined;
    const wanted = hermes ? "hermes" : "qwen3_xml";
    const cause = `The model's tool calls came as text: the tool parser${parser === undefined ? "" : ` (${parser})`} does not read the form in which this model writes them.`;
    if (tools?.autoChoice === false)
      return {
        cause: "Tool calls are left as text because automatic tool choice is off.",
        evidence: hit.line,
        edits: [server.set(["tools", "autoChoice"], true)],
        command: APPLY,
      };
    const version = versions?.vllm;
    const same =
      !hermes &&
      parser === "qwen3_coder" &&
      version !== undefined &&
      valid(version) !== null &&
      gte(version, ONE_QWEN_PARSER);
    return {
      cause,
      evidence: hit.line,
      edits: [server.set(["tools", "parser"], wanted)],
      ...(same
        ? {
            advice: `From vLLM ${ONE_QWEN_PARSER} on both qwen3 names are one parser: if the probe still fails after this, the chat template of the model is to blame.`,
          }
        : {}),
      command: `${APPLY} && serving verify --only chat-tools,chat-tools-stream,chat-several-tools`,
    };
  },
};

const reasoningIntercepts: Diagnosis = {
  id: "reasoning-parser-intercepts",
  source: 'specification, Errors: "`tool_calls: []` with XML in `reasoning`"; vllm-project/vllm #39056',
  caughtBy: "the policy `reasoning-parser`, where the model is declared to have no thinking mode",
  signs: [NO_CALLS, XML_IN_REASONING],
  judge(evidence) {
    const hit = seen(evidence, XML_IN_REASONING);
    if (hit === undefined || seen(evidence, NO_CALLS) === undefined) return undefined;
    const server = serverOf(evidence, hit.log);
    return {
      cause:
        "The reasoning parser takes the model's tool calls for reasoning: this model has no thinking mode.",
      evidence: hit.line,
      edits: [server.set(["model", "thinking"], false), server.set(["reasoningParser"], "auto")],
      advice: "`auto` passes no reasoning parser at all for a model without a thinking mode.",
      command: `${APPLY} && serving verify --only chat-tools,chat-tools-stream,chat-several-tools`,
    };
  },
};

const unknownParser: Diagnosis = {
  id: "unknown-parser",
  source: "vLLM v1 argument check: invalid tool call parser, invalid reasoning parser",
  caughtBy: false,
  signs: [UNKNOWN_PARSER],
  judge(evidence) {
    const hit = seen(evidence, UNKNOWN_PARSER);
    if (hit === undefined) return undefined;
    const server = serverOf(evidence, hit.log);
    const isTool = hit.groups[0] === "tool call";
    return {
      cause: `vLLM has no ${hit.groups[0]} parser by the name ${hit.groups[1]}.`,
      evidence: hit.line,
      edits: [isTool ? server.set(["tools", "parser"], "auto") : server.set(["reasoningParser"], "auto")],
      advice:
        "`auto` takes the parser of the model's family; the line lists every name that this version knows.",
      command: APPLY,
    };
  },
};

const toolChoiceWithoutParser: Diagnosis = {
  id: "tool-choice-without-parser",
  source: "vLLM: --enable-auto-tool-choice requires --tool-call-parser",
  caughtBy: "the policy `tool-calling`",
  signs: [NO_PARSER],
  judge(evidence) {
    const hit = seen(evidence, NO_PARSER);
    if (hit === undefined) return undefined;
    const server = serverOf(evidence, hit.log);
    const known =
      server.settings === undefined ? undefined : toolParser(server.settings.model.family, "auto");
    return {
      cause: "Automatic tool choice is on, and no tool parser is named: vLLM refuses to start.",
      evidence: hit.line,
      edits: [
        known === undefined
          ? server.set(["tools", "autoChoice"], false)
          : server.set(["tools", "parser"], known),
      ],
      ...(known === undefined
        ? { advice: "For coding agents name the family's parser in `tools.parser` instead." }
        : {}),
      command: APPLY,
    };
  },
};

const thinkInContent: Diagnosis = {
  id: "thinking-in-content",
  source: "eugr/spark-vllm-docker #128: reasoning leaks into the answer without a reasoning parser",
  caughtBy: "`serving verify`",
  signs: [THINK_IN_CONTENT],
  judge(evidence) {
    const hit = seen(evidence, THINK_IN_CONTENT);
    if (hit === undefined) return undefined;
    const server = serverOf(evidence, hit.log);
    return {
      cause:
        "The model thinks aloud in its answer: it has a thinking mode, and no reasoning parser takes it out.",
      evidence: hit.line,
      edits: [server.set(["model", "thinking"], true)],
      command: `${APPLY} && serving verify`,
    };
  },
};

export const parsers: readonly Diagnosis[] = [
  toolParserMismatch,
  reasoningIntercepts,
  unknownParser,
  toolChoiceWithoutParser,
  thinkInContent,
];
