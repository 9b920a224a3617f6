import { isOn, type ServerArguments } from "@local-serving/vllm/argv/serverArguments";
import { isText } from "@local-serving/vllm/argv/unknown";
import { parserByName, parserInstead } from "../../components/inference-server";
import { makesNoCalls, namedPooling, saidOfKind } from "../../components/memory/model-name";
import { TYPE } from "../../components/planned";
import { nameOf } from "../lib/block";
import type { DeclaredResource } from "../lib/container";
import { type HostInstanceClient, hostInstanceClients } from "../lib/hostInstance";
import { serversIn } from "../lib/inferenceServer";
import { type ServerRecord, serverRecords } from "../lib/machines";
import { advice, type Finding, type Rule, violation } from "./rule";

/**
 * Coding clients work only with structured tool calls, and those only with the flag and a parser.
 */
export const toolCalling: Rule = {
  name: "tool-calling",
  description:
    "Automatic tool choice has a parser, and coding clients use only servers that have both. It warns of a tool or reasoning parser of another family than the model's, by the model's name.",
  level: "mandatory",
  advises: true,
  of: TYPE.container,
  judgeResource(resource) {
    const servers = serversIn(resource);
    const without = servers
      .filter((server) => isOn(server, "enable-auto-tool-choice") && !hasParser(server))
      .map((server) => withoutParser(resource, server));
    return [...without, ...servers.flatMap((server) => otherFamilys(resource, server))];
  },
  judgeMachine: (group) => [
    ...serverRecords(group).flatMap(judgeClients),
    ...hostInstanceClients(group).flatMap(judgeHostInstance),
  ],
};

/** Says of a server without a parser which one reads its model's family, or why none does. */
function withoutParser(resource: DeclaredResource, { model }: ServerArguments): Finding {
  const who = `${nameOf(resource)} has --enable-auto-tool-choice without --tool-call-parser.`;
  const id = isText(model) ? model : "";
  const parser = parserByName(id, "tool");
  if (parser !== undefined)
    return violation(
      resource,
      `${who} Write \`tools.parser: ${parser}\` (\`--tool-call-parser ${parser}\`), which reads the family of ${id}: vLLM refuses to start like that.`,
      { setting: "tools.parser", value: parser },
    );
  if (makesNoCalls(id)) {
    const kind = namedPooling(id);
    const change =
      kind === undefined
        ? { setting: "tools.autoChoice", value: false }
        : { setting: "model.kind", value: kind };
    return violation(
      resource,
      `${who} By its name, ${id} ${saidOfKind(id)}. vLLM refuses to start like that.`,
      change,
    );
  }
  return violation(
    resource,
    `${who} Write the parser that its publisher names as \`tools.parser\` (\`--tool-call-parser\`), or \`tools: { autoChoice: false }\` to do without tool calls: vLLM refuses to start like that.`,
    { setting: "tools.parser" },
  );
}

/** The options that name a parser, with the settings of ours that make them. */
const PARSERS = [
  { option: "tool-call-parser", what: "tool", setting: "tools.parser" },
  { option: "reasoning-parser", what: "reasoning", setting: "reasoningParser" },
] as const;

/** What comes of a parser that reads another family's answers. */
const COMES_AS = {
  tool: "its tool calls would come as text",
  reasoning: "what it thinks would come as its answer, or its answer as thought",
};

/** Warns of parsers that read the answers of another family than the model's. */
function otherFamilys(resource: DeclaredResource, { model, options }: ServerArguments): Finding[] {
  return PARSERS.flatMap(({ option, what, setting }) => {
    const parser = options.get(option)?.[0];
    if (!isText(model) || !isText(parser)) return [];
    const value = parserInstead(model, what, parser);
    if (value === undefined) return [];
    const message = `${nameOf(resource)} has --${option} ${parser}, of another family. Write \`${setting}: ${value}\` (\`--${option} ${value}\`), which reads the family of ${model}: ${COMES_AS[what]}.`;
    return [advice(resource, message, { setting, value })];
  });
}

const hasParser = (server: ServerArguments): boolean =>
  (server.options.get("tool-call-parser")?.length ?? 0) > 0;

function judgeClients({ resource, container, ...record }: ServerRecord): Finding | [] {
  if (record.codingClients.length === 0) return [];
  const clients = record.codingClients.join(", ");
  if (record.kind !== undefined && record.kind !== "chat") {
    const message = `${clients} can't use a model of kind ${record.kind}. ${record.model} has no chat and no tool calls. Point the clients elsewhere, or serve a chat model.`;
    return violation(resource, message);
  }
  if (container === undefined) {
    const message = `${clients} would use a container that isn't declared. Name a declared container, not ${record.containerNamed}.`;
    return violation(resource, message);
  }
  const parsing = serversIn(container).filter(hasParser);
  if (parsing.some((server) => isOn(server, "enable-auto-tool-choice"))) return [];
  const change =
    parsing.length === 0
      ? { setting: "tools.parser" }
      : { setting: "tools.autoChoice", value: true };
  const message = `${clients} would use ${nameOf(container)}, which makes no tool calls. Add \`--enable-auto-tool-choice --tool-call-parser <parser>\`, or point the coding clients elsewhere.`;
  return violation(container, message, change);
}

function judgeHostInstance({ machine, who, block, hostInstance }: HostInstanceClient) {
  if (hostInstance.toolParser !== "none") return [];
  const message = `${who} would use instance A, which makes no tool calls (\`toolParser: none\`). Restart it yourself with \`--enable-auto-tool-choice --tool-call-parser <parser>\` and declare that parser, or point the client at another server (\`${block}.server\`).`;
  return violation(machine, message, { setting: `${block}.server` });
}

/** How publishers name models that answer without thinking first. */
const NAMED_AS_NOT_THINKING = /(^|[-_/.])(instruct|coder|base)([-_.]|$)/i;

/** A reasoning parser on a model that doesn't think swallows its tool calls. */
export const reasoningParser: Rule = {
  name: "reasoning-parser",
  description: "A model without a thinking mode is served without a reasoning parser.",
  level: "mandatory",
  judgeMachine(group) {
    const records = serverRecords(group);
    return group.containers.flatMap((container) => {
      const record = records.find((each) => each.container === container);
      return judge(container, record?.thinking);
    });
  },
};

function judge(container: DeclaredResource, thinking: boolean | undefined): Finding[] {
  return serversIn(container).flatMap((server) => {
    const parser = server.options.get("reasoning-parser")?.[0];
    if (thinking === true || parser === undefined || parser === "") return [];
    const model = isText(server.model) ? server.model : "";
    if (thinking === undefined && !NAMED_AS_NOT_THINKING.test(model)) return [];
    const why =
      thinking === false ? "without a thinking mode" : "without a thinking mode by its name";
    const message = `${nameOf(container)} has a reasoning parser for a model ${why}. Pass no reasoning parser${thinking === false ? "" : ", or declare the model's thinking mode"}: ${isText(parser) ? parser : "one that isn't known yet"} would mistake the tool calls of ${model || "its model"} for reasoning.`;
    return violation(container, message, { setting: "reasoningParser", value: "auto" });
  });
}
