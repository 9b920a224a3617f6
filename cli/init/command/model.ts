import { ownValue } from "@local-serving/base/faults/defined";
import { holdsSecret } from "@local-serving/base/faults/secrets";
import type { ServerArguments } from "@local-serving/vllm/argv/serverArguments";
import { isText } from "@local-serving/vllm/argv/unknown";
import type { Recipe } from "../../../components/catalogue";
import {
  ggufText,
  namedPooling,
  readModelName,
  saidOfKind,
  unservedByName,
} from "../../../components/memory/model-name";
import { inferenceServer } from "../../../components/settings";
import { AS_COMMANDED, NAMES_MODEL, type ServerValue } from "../../models/serverValues";
import { refuseCommand } from "./words";

/** The model's id. Refuses a command that names none, or one that can't be a word. */
export function modelOf({ model }: ServerArguments): string {
  if (!isText(model ?? undefined) || !isText(model) || model === "")
    refuseCommand(
      "It names no model: write the model's hub id behind `vllm serve`, or as `--model`.",
    );
  if (!inferenceServer.shape.model.shape.id.safeParse(model).success || holdsSecret(model))
    refuseCommand("Its model is neither a hub id nor a path without blanks.");
  if (readModelName(model).gguf)
    refuseCommand(`Its model's name says GGUF: ${model} ${ggufText(model)}`);
  const speech = unservedByName(model);
  if (speech !== undefined) refuseCommand(speech);
  return model;
}

/** The model, its kind and its names. */
export function modelValues(
  args: ServerArguments,
  id: string,
  recipe: Recipe | undefined,
): ServerValue[] {
  const { options } = args;
  const value = (path: string, of: ServerValue["value"] | undefined): ServerValue[] =>
    of === undefined ? [] : [{ path: path.split("."), value: of, why: AS_COMMANDED }];
  const kind = recipe === undefined ? poolingKind(args, id) : undefined;
  const names = (options.get("served-model-name") ?? []).filter(isText).filter(isName);
  const plain = names.find((name) => !name.includes("/"));
  const own = recipe?.servedModelName ?? plainName(id);
  const canonical = plain ?? (names[0] === undefined ? own : plainName(names[0]));
  const others = names.filter((name) => name !== canonical);
  const usual = others.join() === "" || others.join() === id;
  return [
    { path: ["model", "id"], value: id, why: NAMES_MODEL },
    ...value("model.kind", kind),
    ...value("model.thinking", options.has("reasoning-parser") || undefined),
    ...value("servedModelName", canonical),
    ...value("aliases", usual ? undefined : others),
  ];
}

/** Kinds of a model by the values of options that say what it is made to do. */
const KIND_OF: Readonly<Record<string, Readonly<Record<string, "embedding" | "rerank">>>> = {
  convert: { embed: "embedding", classify: "rerank", reward: "rerank" },
  task: {
    ...{ embed: "embedding", embedding: "embedding" },
    ...{ score: "rerank", classify: "rerank", classification: "rerank", reward: "rerank" },
  },
};

/** The kind that an option says, and how it stands there. */
function kindByOption({ options }: ServerArguments) {
  for (const [option, kinds] of Object.entries(KIND_OF)) {
    const [value] = options.get(option) ?? [];
    const kind = isText(value) ? ownValue(kinds, value) : undefined;
    if (kind !== undefined) return { kind, by: `--${option} ${String(value)}`, option };
  }
  return undefined;
}

/** Says of `--task` what it is here; nothing where no setting says the same. */
export function taskText(args: ServerArguments): string[] {
  const said = kindByOption(args);
  return said?.option === "task"
    ? [
        `\`${said.by}\` is of an older vLLM: \`model.kind: ${said.kind}\` passes \`--runner pooling\`, which took its place.`,
      ]
    : [];
}

/** Words of served names and templates that leave no doubt what a model is for. */
const PLAIN_WORDS = /embed|rerank/i;

/** The kind of a pooling model by its name, or by the names and the template that it is served with. */
function kindByName({ options }: ServerArguments, id: string) {
  const own = namedPooling(id);
  if (own !== undefined) return { kind: own, of: "The model's name" };
  const others = ["served-model-name", "chat-template"]
    .flatMap((option) => options.get(option) ?? [])
    .filter(isText);
  const kinds = others.flatMap((name) =>
    PLAIN_WORDS.test(name) ? (namedPooling(name) ?? []) : [],
  );
  return kinds[0] === undefined ? undefined : { kind: kinds[0], of: "What it is served as" };
}

const isPoolingRunner = ({ options }: ServerArguments): boolean =>
  options.get("runner")?.[0] === "pooling";

/** The kind of a pooling model, as a command, the model's name or its served names say it. */
function poolingKind(args: ServerArguments, id: string) {
  const runner = args.options.get("runner")?.[0];
  const said = kindByOption(args)?.kind;
  if (runner === "generate") return undefined;
  return said ?? kindByName(args, id)?.kind ?? (isPoolingRunner(args) ? "embedding" : undefined);
}

/** Whether a stack file may have a served name. */
export const isName = (name: string): boolean =>
  inferenceServer.shape.servedModelName.safeParse(name).success && !holdsSecret(name);

/** The last part of a name, as coding clients can ask for it. */
const plainName = (name: string): string =>
  name
    .slice(name.lastIndexOf("/", name.length - 2) + 1)
    .replace(/\/$/, "")
    .toLowerCase() || "model";

/** What a command leaves open of a model's kind, and a name tells. */
export function kindText(
  values: readonly ServerValue[],
  args: ServerArguments,
  id: string,
): string[] {
  const kind = values.find(({ path }) => path.join(".") === "model.kind");
  if (kind !== undefined && kind.why !== AS_COMMANDED) return [];
  const named = kindByName(args, id);
  const said = saidOfKind(id);
  if (said !== undefined && kind?.value === namedPooling(id))
    return [`The model's name says that it ${said}.`];
  if (kindByOption(args) !== undefined) return [];
  if (kind !== undefined && named !== undefined)
    return [`${named.of} says its kind: \`model.kind: ${named.kind}\`.`];
  return kind !== undefined
    ? [
        "--runner pooling doesn't say which kind: `embedding` is assumed. Write `model.kind: rerank` if the model sorts documents.",
      ]
    : [];
}

/** Says that a model thinks, where the command passes no parser for that. */
export function thinkingText(values: readonly ServerValue[], recipe: Recipe | undefined): string[] {
  const said = values.some(({ path }) => path.join(".") === "model.thinking");
  return recipe?.thinking === true && !said
    ? [
        "The command has no --reasoning-parser, so none is passed. The model thinks: `model.thinking: true` passes its family's.",
      ]
    : [];
}
