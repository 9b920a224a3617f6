import { attempt } from "@local-serving/base/faults/defined";
import { isRecord, jsonIn } from "@local-serving/base/faults/json";
import { isText, knownMap, knownMaps, text } from "@local-serving/vllm/argv/unknown";
import { parse } from "yaml";
import { TYPE } from "../../components/planned";
import { nameOf } from "../lib/block";
import { type DeclaredResource, launchOf } from "../lib/container";
import { roleOf } from "../lib/role";
import type { Rule } from "./rule";

/** The prefix that newer bridges route through /v1/responses, whatever the client asked for. */
const GENERIC = "openai/";
const REMEDY =
  "With that prefix, recent bridges use /v1/responses, and a conversation of several turns ends in HTTP 400. Write `hosted_vllm/<served name>` instead.";

/** Ours can't be written with it; a hand-written configuration can, wherever its text is. */
export const bridgePrefix: Rule = {
  name: "bridge-prefix",
  description: "No bridge routes a model by the generic `openai/` prefix.",
  level: "mandatory",
  judgeResource(resource) {
    return [...inFacts(resource), ...inArguments(resource), ...inConfigurations(resource)]
      .filter(({ model }) => model.startsWith(GENERIC))
      .map(
        ({ name, model }) =>
          `${resource.type === TYPE.container ? nameOf(resource) : resource.name} sends \`${name}\` to \`${model}\`. ${REMEDY}`,
      );
  },
};

type Sent = { readonly name: string; readonly model: string };

/** What a machine says of its bridge. */
function inFacts(resource: DeclaredResource): Sent[] {
  if (resource.type !== TYPE.machine) return [];
  return knownMaps(knownMap(resource.props.bridge).models).map(({ name, model }) => ({
    name: String(text(name) ?? ""),
    model: String(text(model) ?? ""),
  }));
}

/** `litellm --model openai/x` needs no file. */
function inArguments(resource: DeclaredResource): Sent[] {
  if (resource.type !== TYPE.container || roleOf(resource) !== "bridge") return [];
  const { entrypoint = [], command } = launchOf(resource.props);
  const words = [...entrypoint, ...command].filter(isText);
  return words.flatMap((word, index) => {
    const model =
      word === "--model" || word === "-m" ? words[index + 1] : /^--model=(.+)/.exec(word)?.[1];
    return model === undefined ? [] : [{ name: model, model }];
  });
}

/**
 * A configuration may be uploaded into a container, written by a command, or be in a resource of
 * its own.
 */
const inConfigurations = ({ props }: DeclaredResource): Sent[] => configurationsIn(props);

/**
 * The models of every LiteLLM configuration inside a value: as it is, or as text. A JSON document
 * around it, such as the plan that `up` keeps, may name the same models on lines of its own.
 */
function configurationsIn(value: unknown): Sent[] {
  if (typeof value === "string") {
    if (!value.includes("model_list")) return [];
    // The document may stand behind a head, as in what a file's command reads.
    const [head = "", ...rest] = value.split("\n\n");
    const body = rest.join("\n\n");
    return documentIn(value) ?? [...linesIn(head), ...(documentIn(body) ?? linesIn(body))];
  }
  if (typeof value !== "object" || value === null) return [];
  return modelsOf(value) ?? Object.values(value).flatMap(configurationsIn);
}

function documentIn(text: string): Sent[] | undefined {
  const json = jsonIn(text);
  return json === undefined ? modelsOf(attempt(() => parse(text))) : configurationsIn(json);
}

/** The models of a LiteLLM configuration; `undefined` if the value is none. */
const modelsOf = (config: unknown): Sent[] | undefined =>
  isRecord(config) && Array.isArray(config.model_list)
    ? config.model_list.filter(isRecord).map(sentBy)
    : undefined;

/** An entry of `model_list`. */
const sentBy = ({ model_name: name, litellm_params: params }: Record<string, unknown>): Sent => ({
  name: String(name ?? ""),
  model: isRecord(params) ? String(params.model ?? "") : "",
});

/** Reads a script around a configuration, or a template, line by line, without comments. */
const linesIn = (text: string): Sent[] =>
  text.split("\n").flatMap((line) => {
    const model = /^[^#]*\bmodel["']?\s*:\s*["']?([\w.-]+\/[^\s"',}]+)/.exec(line)?.[1];
    return model === undefined ? [] : [{ name: model, model }];
  });
