import { isOn, type ServerArguments } from "../../components/inference-server/argv/serverArguments";
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
