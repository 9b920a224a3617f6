import { isOn, type ServerArguments } from "../../components/inference-server/argv/serverArguments";
import { isText } from "../../components/inference-server/argv/unknown";
import { TYPE } from "../../components/planned/type";
import { type DeclaredResource, displayName, shown } from "../lib/container";
import { readContainer } from "../lib/inferenceServer";
import { recordsWithContainers, type ServerRecord } from "../lib/machines";
import { type Finding, type Rule, violation } from "./rule";

/** Coding clients work only with structured tool calls, and those only with the flag and a parser. */
export const toolCalling: Rule = {
  name: "tool-calling",
  description: "Automatic tool choice has a parser, and coding clients use only servers that have both.",
  level: "mandatory",
  of: TYPE.container,
  judgeResource(resource) {
    const message = `${displayName(resource)} has --enable-auto-tool-choice without --tool-call-parser, so vLLM refuses to start. Add the parser of the model's family, such as \`--tool-call-parser qwen3_coder\`.`;
    return servers(resource)
      .filter((server) => isOn(server, "enable-auto-tool-choice") && !hasParser(server))
      .map(() => violation(resource, message, { setting: "tools.parser" }));
  },
  judgeMachine: (group) =>
    recordsWithContainers(group).flatMap(({ record, container }) => judgeClients(record, container)),
};

function servers(resource: DeclaredResource): readonly ServerArguments[] {
  const reading = readContainer(resource);
  return reading.kind === "yes" ? reading.servers : [];
}

const hasParser = (server: ServerArguments): boolean => (server.options.get("tool-call-parser")?.length ?? 0) > 0;

function judgeClients(record: ServerRecord, container: DeclaredResource | undefined): Finding | [] {
  if (record.codingClients.length === 0) return [];
  const clients = record.codingClients.join(", ");
  if (typeof record.kind === "string" && record.kind !== "chat") {
    const message = `${clients} can't use ${shown(record.modelId)}: a model of kind ${record.kind} has no chat and no tool calls. Take the clients away from it, or serve a chat model.`;
    return violation(record.resource, message);
  }
  if (container === undefined) {
    const message = `${clients} would use the container ${shown(record.container)}, which the program doesn't declare. Name a container that it does.`;
    return violation(record.resource, message);
  }
  const parsing = servers(container).filter(hasParser);
  if (parsing.some((server) => isOn(server, "enable-auto-tool-choice"))) return [];
  const change = parsing.length === 0 ? { setting: "tools.parser" } : { setting: "tools.autoChoice", value: true };
  const message = `${clients} would use ${displayName(container)}, which makes no structured tool calls. Add \`--enable-auto-tool-choice --tool-call-parser <parser>\`, or point the coding clients elsewhere.`;
  return violation(container, message, change);
}

/** How publishers name models that answer without thinking first. */
const NAMED_AS_NOT_THINKING = /(^|[-_/.])(instruct|coder|base)([-_.]|$)/i;

/** A reasoning parser on a model that doesn't think swallows its tool calls. */
export const reasoningParser: Rule = {
  name: "reasoning-parser",
  description: "A model without a thinking mode is served without a reasoning parser.",
  level: "mandatory",
  judgeMachine(group) {
    const records = recordsWithContainers(group);
    return group.containers.flatMap((container) => {
      const record = records.find((each) => each.container === container)?.record;
      return judge(container, record?.thinking);
    });
  },
};

function judge(container: DeclaredResource, thinking: boolean | undefined): Finding[] {
  const reading = readContainer(container);
  if (reading.kind !== "yes" || thinking === true) return [];
  return reading.servers.flatMap((server) => {
    const parser = server.options.get("reasoning-parser")?.[0];
    if (parser === undefined || parser === "") return [];
    const model = isText(server.model) ? server.model : "";
    if (thinking === undefined && !NAMED_AS_NOT_THINKING.test(model)) return [];
    const why = thinking === false ? "is declared to have no thinking mode" : "has no thinking mode by its name";
    const message = `${displayName(container)} has --reasoning-parser ${isText(parser) ? parser : "(not known yet)"}, but ${model || "its model"} ${why}: the parser would take the tool calls for reasoning. Pass no reasoning parser${thinking === false ? "." : ", or declare the model's thinking mode."}`;
    return violation(container, message, { setting: "reasoningParser", value: "auto" });
  });
}
