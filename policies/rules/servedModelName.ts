import { defined } from "@local-serving/base/faults/defined";
import type { ServerArguments } from "@local-serving/vllm/argv/serverArguments";
import { isText, knownMap, knownMaps } from "@local-serving/vllm/argv/unknown";
import { MESSAGES_CLIENT } from "../../components/clients";
import { TYPE } from "../../components/planned";
import { INSTANCE_A } from "../../components/planned/fields";
import { nameOf } from "../lib/block";
import { type DeclaredResource, knownText, variables } from "../lib/container";
import { type CodingClient, codingClients } from "../lib/hostInstance";
import { readContainer } from "../lib/inferenceServer";
import type { MachineGroup } from "../lib/machines";
import { type Finding, type Rule, violation } from "./rule";

/** What vLLM serves when no model is named. */
const VLLM_DEFAULT_MODEL = "Qwen/Qwen3-0.6B";

/**
 * The first served name is the canonical one, and a coding client can't address an id with a slash.
 */
export const servedModelName: Rule = {
  name: "served-model-name",
  description:
    "The first served model name has no slash, and neither has a name that a coding client asks for: coding clients can't address a name with one.",
  level: "mandatory",
  fixed: true,
  of: TYPE.container,
  judgeResource(resource) {
    const reading = readContainer(resource);
    if (reading.kind === "no") return [];
    const name = nameOf(resource);
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
  judgeMachine: (group) => [
    ...codingClients(group).flatMap((client) => judgeClient(group, client)),
    ...group.containers.flatMap((container) => judgeContainer(group, container)),
  ],
};

/**
 * A container of a messages-style client that asks a server of the same program for a name with a
 * slash. A hosted service, which may have such names, has no port in its address.
 */
function judgeContainer(group: MachineGroup, container: DeclaredResource): Finding[] {
  const given = variables(container.props.envs);
  const baseUrl = knownText(given.get(MESSAGES_CLIENT.baseUrlVariable)) ?? "";
  if (!URL.canParse(baseUrl) || new URL(baseUrl).port === "") return [];
  const asked = [...given].flatMap(([name, value]) => {
    const model = MESSAGES_CLIENT.anyModelVariable.test(name) ? knownText(value) : undefined;
    return model?.includes("/") ? [[name, model] as const] : [];
  });
  const servers = group.containers.flatMap(servedNames);
  return [...new Set(asked.map(([, model]) => model))].flatMap((model) => {
    const plain = servers
      .find((names) => names.includes(model))
      ?.find((each) => !each.includes("/"));
    if (plain === undefined) return [];
    const where = asked.flatMap(([name, each]) => (each === model ? [name] : [])).join(", ");
    const message = `${nameOf(container)} would ask for \`${model}\`, which has a slash. Ask for \`${plain}\`, which the same server answers to: coding clients can't address a slash (${where}).`;
    return [violation(container, message)];
  });
}

/** The names of each server in a container. */
function servedNames(container: DeclaredResource): string[][] {
  const reading = readContainer(container);
  if (reading.kind !== "yes") return [];
  return reading.servers.map(({ options }) =>
    (options.get("served-model-name") ?? []).filter((name) => isText(name)),
  );
}

/** A coding client that asks for a name with a slash, once for each setting that says so. */
function judgeClient(group: MachineGroup, client: CodingClient): Finding[] {
  const slashed = client.tiers.filter(([, model]) => model.includes("/"));
  // The settings' one name stands in most variables, and `environment` changes single ones.
  const usual = mostCommon(client.tiers.map(([, model]) => model));
  const found = slashed.flatMap(([variable, model]) => {
    const setting = model === usual ? "model" : `environment.${variable}`;
    return isOwnName(group, client, model)
      ? []
      : [{ setting: `${client.block}.${setting}`, model }];
  });
  const once = new Map(found.map((each) => [`${each.setting} ${each.model}`, each]));
  return [...once.values()].map((each) => findingOf(group, client, each));
}

const mostCommon = (names: readonly string[]): string | undefined => {
  const count = (name: string) => names.filter((each) => each === name).length;
  return [...names].sort((a, b) => count(b) - count(a))[0];
};

/** The canonical name of a server of ours: what is said of the server itself mends the client, too. */
const isOwnName = (group: MachineGroup, { serverKind, names }: CodingClient, model: string) =>
  serverKind === "inference-server" && model === (canonical(group, model) ?? names[0]);

/** The first name of the model that a name leads to through the bridge, as LiteLLM is given it. */
function canonical({ component }: MachineGroup, model: string): string | undefined {
  const { models } = knownMap(component?.props.bridge);
  const entry = knownMaps(models).find(({ name }) => knownText(name) === model);
  return knownText(entry?.model)?.replace(/^hosted_vllm\//, "");
}

function findingOf(
  group: MachineGroup,
  client: CodingClient,
  { setting, model }: { readonly setting: string; readonly model: string },
): Finding {
  const { machine, who, via, names, serverKind, block } = client;
  const first = via === "bridge" ? canonical(group, model) : undefined;
  const plain = [first, ...(serverKind === "simple-server" ? [] : names)].find(
    (name) => name !== undefined && !name.includes("/") && !name.endsWith("*"),
  );
  if (plain !== undefined) {
    const message = `${who} would ask for \`${model}\`, which has a slash. Ask for \`${plain}\`, which the same server answers to: coding clients can't address a slash.`;
    return violation(machine, message, { setting, value: plain });
  }
  const message = whereNoneIsPlain(client, model);
  return violation(machine, message, { setting: `${block}.server` });
}

/** What to do where every name that is known of the server has a slash. */
function whereNoneIsPlain({ who, block, server, serverKind }: CodingClient, model: string): string {
  const short = suggestion(model);
  const begins = `${who} would ask ${server === INSTANCE_A ? "instance A " : ""}for \`${model}\`, which has a slash.`;
  const elsewhere = `point the client at another server (\`${block}.server\`).`;
  if (serverKind === "simple-server") {
    const tagged = model.slice(model.lastIndexOf("/") + 1);
    return `${begins} Give the model a name without one (\`ollama cp ${model} ${tagged}\`), declare \`${tagged}\` in \`simpleServer.models\` and test it (\`serving verify --record\`), or ${elsewhere} ${NO_SLASH}`;
  }
  if (serverKind === "inference-server")
    return `${begins} Name the server without one, or ${elsewhere} ${NO_SLASH}`;
  return `${begins} If instance A also serves a name without one, declare that (\`instanceA.servedModelName\`). Otherwise restart it yourself with \`--served-model-name ${short} ${model}\` and declare \`${short}\`, or ${elsewhere} ${NO_SLASH}`;
}

function faultOf(server: ServerArguments): string | undefined {
  const names = server.options.get("served-model-name");
  if (names !== undefined) {
    const [first] = names;
    if (first === undefined || first === "")
      return "has --served-model-name without a name. Put a name without a slash after it.";
    if (!isText(first))
      return "has a --served-model-name that isn't known before the update. Give it as plain text.";
    if (!first.includes("/")) return undefined;
    return `serves its model as \`${first}\`, which has a slash. Put a name without one first, such as \`${suggestion(first)}\`, and keep \`${first}\` after it as an alias. ${NO_SLASH}`;
  }
  const model = server.model ?? VLLM_DEFAULT_MODEL;
  if (!isText(model))
    return "has no --served-model-name, and its model isn't known yet. Give a name without a slash.";
  if (!model.includes("/")) return undefined;
  const why = server.model === undefined ? " (vLLM's default model, as none is given)" : "";
  return `has no --served-model-name, and coding clients can't address its id, with a slash. Add \`--served-model-name ${suggestion(model)} ${model}\`: else it is served as \`${model}\`${why}.`;
}

const NO_SLASH = "Coding clients can't address such a name.";

const suggestion = (name: string): string =>
  name
    .slice(name.lastIndexOf("/") + 1)
    .toLowerCase()
    .replace(/[^a-z0-9.]+/g, "-") || "model";
