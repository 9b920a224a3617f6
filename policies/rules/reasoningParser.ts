import { isText } from "../../components/inference-server/argv/unknown";
import { type DeclaredResource, displayName } from "../lib/container";
import { readContainer } from "../lib/inferenceServer";
import { recordsWithContainers } from "../lib/machines";
import { type Finding, type Rule, violation } from "./rule";

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
