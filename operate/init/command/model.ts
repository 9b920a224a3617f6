import type { Recipe } from "../../../components/catalogue";
import {
  ggufText,
  namedPooling,
  readModelName,
  saidOfKind,
  unservedByName,
} from "../../../components/model-name";
import { inferenceServer } from "../../../components/settings";
import { holdsSecret } from "../../../faults/secrets";
import type { ServerArguments } from "../../../vllm/argv/serverArguments";
import { isText } from "../../../vllm/argv/unknown";
import { AS_COMMANDED, NAMES_MODEL, type ServerValue } from "../../models/serverValues";
import { refuseCommand } from "./words";

/** The model's id. Refuses a command that names none, or one that can't be a word. */
export function modelOf({ model }: ServerArguments): string {
  if (!isText(model ?? undefined) || !isText(model) || model === "")
    refuseCommand("It names no model.");
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

/** What older releases called the kinds of a model by (`--task`), which took `--runner`'s place. */
const TASKS: Readonly<Record<string, "embedding" | "rerank">> = {
  embed: "embedding",
  embedding: "embedding",
  score: "rerank",
};

/** Says of `--task` what it is here; nothing where no setting says the same. */
export function taskText({ options }: ServerArguments): string[] {
  const [task] = options.get("task") ?? [];
  if (!isText(task) || !Object.hasOwn(TASKS, task)) return [];
  return [
    `\`--task ${task}\` is of an older vLLM: \`model.kind: ${TASKS[task]}\` passes \`--runner pooling\`, which took its place.`,
  ];
}

/** The kind of a pooling model, as a command or the model's name says it. */
function poolingKind({ options }: ServerArguments, id: string) {
  const named = namedPooling(id);
  const runs = ["runner", "task", "convert"].some((option) => options.has(option));
  const [task] = options.get("task") ?? [];
  if (isText(task) && Object.hasOwn(TASKS, task)) return named ?? TASKS[task];
  return options.get("runner")?.[0] === "pooling"
    ? (named ?? "embedding")
    : runs
      ? undefined
      : named;
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

/** What a command leaves open of a model's kind, and its name tells. */
export function kindText(
  values: readonly ServerValue[],
  { options }: ServerArguments,
  id: string,
): string[] {
  const kind = values.find(({ path }) => path.join(".") === "model.kind");
  if (kind !== undefined && kind.why !== AS_COMMANDED) return [];
  const said = saidOfKind(id);
  if (said !== undefined && (kind !== undefined) === (namedPooling(id) !== undefined))
    return [`The model's name says that it ${said}.`];
  return options.get("runner")?.[0] === "pooling"
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
