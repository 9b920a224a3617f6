import { type JsonObject, objectOr, objectsIn, textOr } from "@local-serving/base/faults/json";
import { asWritten, standIn } from "../command/words";
import { alike } from "../notCarriedOver";
import { scalarTexts } from "./container";
import { nameOf, type Resources } from "./kubernetesValues";
import type { Keys } from "./unread";

/** Where KServe puts the model of `storageUri`. */
const MODEL_INSIDE = "/mnt/models";

/** What becomes of the keys of a model that KServe serves. */
export const OF_MODEL: Keys = {
  ...alike(true, "modelFormat runtime protocolVersion name", "args env image"),
  storageUri: (uri) =>
    hubModel(uri) === undefined
      ? "KServe downloads the model from there: write its hub id, or its folder on the machine, as `model.id`."
      : undefined,
  resources: { limits: { "*": true }, requests: { "*": true } },
};

/** A model of KServe's as a container, and the resource that names it. */
export interface KserveModel {
  readonly container: JsonObject;
  /** The runtime of the same file that it runs by. */
  readonly runtime?: JsonObject;
  /** The hub's model that lies at `MODEL_INSIDE`. */
  readonly model?: string;
}

/** The model of an InferenceService, as the container that its runtime makes of it. */
export function kserveModel(resource: JsonObject, resources: Resources): KserveModel | undefined {
  const model = objectOr(objectOr(objectOr(resource.spec).predictor).model);
  if (resource.kind !== "InferenceService" || Object.keys(model).length === 0) return undefined;
  const id = hubModel(model.storageUri);
  const runtimes = resources.filter(({ kind }) => /ServingRuntime$/.test(textOr(kind)));
  const runtime = runtimes.find((each) => nameOf(each) === model.runtime);
  const [base] = objectsIn(objectOr(runtime?.spec).containers);
  if (base !== undefined)
    return {
      container: merged(base, model),
      ...(runtime && { runtime }),
      ...(id && { model: id }),
    };
  const args = scalarTexts(model.args).map(asVllm);
  const names = args.some((word) => /^--model(?:=|$)/.test(word));
  const named = names || id === undefined ? [] : [`--model=${id}`];
  const image = textOr(model.image) || standIn("the image of KServe's own runtime");
  return {
    container: {
      name: "model",
      ...model,
      image,
      command: ["vllm", "serve"],
      args: [...named, ...args],
    },
  };
}

const merged = (base: JsonObject, model: JsonObject): JsonObject => ({
  ...base,
  args: [...scalarTexts(base.args), ...scalarTexts(model.args)],
  env: [...objectsIn(base.env), ...objectsIn(model.env)],
  resources: model.resources ?? base.resources,
});

/** Options of KServe's own server of models that vLLM calls otherwise. */
const asVllm = (word: string): string =>
  word.replace(/^--model_(id|name)(?==|$)/, (_, of) =>
    of === "id" ? "--model" : "--served-model-name",
  );

/** The hub's model of a `storageUri`, with `:REVISION` left away. */
function hubModel(uri: unknown): string | undefined {
  return /^hf:\/\/([\w.-]+\/[\w.-]+)(?::[\w.-]+)?$/.exec(textOr(uri))?.[1];
}

/** A word with the hub's model in the place of the folder that KServe downloads it to. */
export const withModelPath = (word: string, model: string | undefined): string =>
  model === undefined ? word : word.replace(new RegExp(`(^|=)${MODEL_INSIDE}/?$`), `$1${model}`);

/** What KServe itself fills into `{{.Name}}`: the only service that the runtime is for. */
export function fieldsOf(resources: Resources): ReadonlyMap<string, string> {
  const [service, ...more] = resources.filter(({ kind }) => kind === "InferenceService");
  return new Map(
    service === undefined || more.length > 0 ? [] : [["Name", asWritten(nameOf(service))]],
  );
}
