import { parse } from "yaml";
import { TYPE } from "../../components/planned";
import { attempt } from "../../faults/defined";
import { isRecord } from "../../faults/json";
import { isText, knownMap, knownMaps, text } from "../../vllm/argv/unknown";
import { type DeclaredResource, displayName, launchOf, textsIn } from "../lib/container";
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
          `${resource.type === TYPE.container ? displayName(resource) : resource.name} sends \`${name}\` to \`${model}\`. ${REMEDY}`,
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
function inConfigurations({ props }: DeclaredResource): Sent[] {
  const written = textsIn(props).filter((text) => text.includes("model_list"));
  return written.flatMap((text) => modelsOf(text) ?? text.split("\n").flatMap(inLine));
}

/** Reads a script around a configuration, or a template, line by line, without comments. */
function inLine(line: string): Sent[] {
  const model = /^[^#]*\bmodel["']?\s*:\s*["']?([\w.-]+\/[^\s"',}]+)/.exec(line)?.[1];
  return model === undefined ? [] : [{ name: model, model }];
}

/** The models of a LiteLLM configuration; `undefined` when the text is none. */
function modelsOf(text: string): Sent[] | undefined {
  const config: unknown = attempt(() => parse(text));
  if (!isRecord(config) || !Array.isArray(config.model_list)) return undefined;
  return config.model_list.filter(isRecord).map((entry) => ({
    name: String(entry.model_name ?? ""),
    model: isRecord(entry.litellm_params) ? String(entry.litellm_params.model ?? "") : "",
  }));
}
