import { TYPE } from "../../components/planned";
import { defined } from "../../faults/defined";
import type { ServerArguments } from "../../vllm/argv/serverArguments";
import { isText } from "../../vllm/argv/unknown";
import { displayName } from "../lib/container";
import { type HostInstanceClient, hostInstanceClients } from "../lib/hostInstance";
import { readContainer } from "../lib/inferenceServer";
import { type Finding, type Rule, violation } from "./rule";

/** What vLLM serves when no model is named. */
const VLLM_DEFAULT_MODEL = "Qwen/Qwen3-0.6B";

/**
 * The first served name is the canonical one, and a coding client can't address an id with a slash.
 */
export const servedModelName: Rule = {
  name: "served-model-name",
  description:
    "The first served model name has no slash, and neither has the name by which clients ask instance A: coding clients can't address a name with one.",
  level: "mandatory",
  fixed: true,
  of: TYPE.container,
  judgeResource(resource) {
    const reading = readContainer(resource);
    if (reading.kind === "no") return [];
    const name = displayName(resource);
    if (reading.unreadable.length > 0) {
      const what =
        reading.kind === "possible" ? "may be an inference server" : "is an inference server";
      return `${name} ${what} whose served model name can't be judged: ${reading.unreadable.join("; ")}. Give it as plain text, so that its first name can be checked for a slash.`;
    }
    if (reading.kind === "possible") return [];
    return reading.servers.flatMap((server) => {
      const fault = faultOf(server);
      if (fault === undefined) return [];
      const [first] = server.options.get("served-model-name") ?? [];
      const value = isText(first) ? suggestion(first) : undefined;
      return violation(
        resource,
        `${name} ${fault}`,
        defined({ setting: "servedModelName", value }),
      );
    });
  },
  judgeMachine: (group) => hostInstanceClients(group).flatMap(judgeHostInstance),
};

function judgeHostInstance({ machine, who, block, models }: HostInstanceClient): Finding[] {
  return models
    .filter((model) => model.includes("/"))
    .map((model) => {
      const short = suggestion(model);
      const message = `${who} would ask instance A for \`${model}\`, which has a slash; coding clients can't address it. If instance A also serves a name without one, declare that (\`instanceA.servedModelName\`). Otherwise restart it yourself with \`--served-model-name ${short} ${model}\` and declare \`${short}\`, or point the client at another server (\`${block}.server\`).`;
      return violation(machine, message, { setting: `${block}.server` });
    });
}

function faultOf(server: ServerArguments): string | undefined {
  const names = server.options.get("served-model-name");
  if (names !== undefined) {
    const [first] = names;
    if (first === undefined || first === "")
      return "has --served-model-name without a name; put a name without a slash after it.";
    if (!isText(first))
      return "has a first --served-model-name that is not known before the update; give it as plain text.";
    if (!first.includes("/")) return undefined;
    return `serves its model as \`${first}\`, which has a slash; coding clients can't address it. Put a name without a slash first, such as \`${suggestion(first)}\`, and keep \`${first}\` after it as an alias.`;
  }
  const model = server.model ?? VLLM_DEFAULT_MODEL;
  if (!isText(model))
    return "has no --served-model-name, and its model is not known before the update; give a name without a slash.";
  if (!model.includes("/")) return undefined;
  const why = server.model === undefined ? " (vLLM's default model, as none is given)" : "";
  return `has no --served-model-name, so its model is served as \`${model}\`${why}, which has a slash; coding clients can't address it. Add \`--served-model-name ${suggestion(model)} ${model}\`.`;
}

const suggestion = (name: string): string =>
  name
    .slice(name.lastIndexOf("/") + 1)
    .toLowerCase()
    .replace(/[^a-z0-9.]+/g, "-") || "model";
