import { ownValue } from "@local-serving/base/faults/defined";
import { type JsonObject, objectOr, textOr } from "@local-serving/base/faults/json";
import { shellWord } from "@local-serving/base/faults/shellWords";
import { pageFromProject } from "../../stack/stackFile";
import { alike } from "../notCarriedOver";
import { asWritten, type LeftOut, refuseCommand } from "./words";

/** A recipe of sparkrun or of spark-vllm-docker as the command that it starts. */
export interface RecipeCommand {
  readonly command: string;
  readonly image?: string;
  /** Its volumes, as `docker run` has them. */
  readonly volumes: readonly string[];
  readonly variables: ReadonlyMap<string, string>;
  readonly leftOut: readonly LeftOut[];
}

/** What sparkrun puts in where a recipe's defaults don't say it. */
const BUILT_IN: JsonObject = {
  host: "0.0.0.0",
  port: 8000,
  tensor_parallel: 1,
  pipeline_parallel: 1,
};

/** Keys of a recipe that are read here, or that tell a person something. */
const READ = new Set([
  ...["recipe_version", "name", "description", "metadata", "runtime", "runtime_version", "mode"],
  ...["model", "model_revision", "container", "defaults", "env", "command", "volumes"],
  ...["draft_model", "solo_only"],
]);

/** Why a key of a recipe has no place in a stack file. */
const WHY: Readonly<Record<string, string>> = {
  mods: "they change the image's files as it starts, which this program doesn't do: pin an image that has these changes.",
  build_args: "this program builds no images: pin one that was built with them.",
  ...alike(
    "this program builds no images: pin one that is in a registry.",
    "builder builder_config build dockerfile",
  ),
  ...alike(
    "no other command runs before or after the server: what it needs of that has to be in the image.",
    "pre_exec post_exec pre_commands post_commands stop_after_post hooks",
  ),
  ...alike(
    "the container is started as every server's here is.",
    "executor executor_config executor_args docker_args container_args",
  ),
  ...alike("it describes the recipe, and starts nothing.", "maintainer author tags license source"),
  ...alike(
    "its results are others' figures: `serving bench` measures here.",
    "benchmark benchmarks",
  ),
  topology: "which machines a server is on, the stack file says.",
};

/** Keys by which a recipe asks for several machines. */
const NODES = ["min_nodes", "max_nodes", "cluster_only"];

/** Its own runtimes that start a vLLM. */
const RUNTIMES = /^(?:|vllm(?:-ray|-distributed)?|eugr-vllm)$/;

/** Options that recipes call otherwise than vLLM does. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  tensor_parallel: "tensor-parallel-size",
  pipeline_parallel: "pipeline-parallel-size",
  data_parallel: "data-parallel-size",
};

/** Deepest nesting of placeholders: a default may name another. */
const PASSES = 5;

/** The command of a recipe. */
export function recipeCommand(recipe: JsonObject): RecipeCommand {
  const runtime = textOr(recipe.runtime);
  if (!RUNTIMES.test(runtime))
    refuseCommand(`The recipe's runtime is \`${runtime}\`, and only vLLM is supported.`);
  const { model, draft_model: draft } = recipe;
  const defaults = { draft_model: draft, ...objectOr(recipe.defaults), model };
  const command = textOr(recipe.command).trim();
  const template = command || made(recipe);
  const image = textOr(recipe.container);
  return {
    command: withRevision(rendered(template, { ...BUILT_IN, ...defaults }), recipe.model_revision),
    ...(image === "" ? {} : { image }),
    variables: new Map(
      Object.entries(objectOr(recipe.env)).map(([name, value]) => [name, String(value)]),
    ),
    volumes: textsOf(recipe.volumes),
    leftOut: [
      ...(command === "" ? [] : [...unusedDefaults(command, defaults), ...otherModels(recipe)]),
      ...nodesOf(recipe),
      ...unreadKeys(recipe),
    ],
  };
}

/** Defaults that neither the command nor another default asks for. */
function unusedDefaults(
  template: string,
  { model: _, draft_model: __, ...defaults }: JsonObject,
): LeftOut[] {
  const asked = [template, ...Object.values(defaults).map(textOf)].join("\n");
  const used = new Set([...asked.matchAll(PLACEHOLDER)].map(([, name]) => name));
  return Object.keys(defaults).flatMap((name) =>
    used.has(name) ||
    Object.hasOwn(BUILT_IN, name) ||
    template.includes(`--${name.replaceAll("_", "-")}`)
      ? []
      : [{ what: `the recipe's default \`${asWritten(name)}\``, why: NOT_ASKED, words: [name] }],
  );
}

/** Models that a recipe names beside its command, which names others or none of them. */
function otherModels(recipe: JsonObject): LeftOut[] {
  const asked = [textOr(recipe.command), ...Object.values(objectOr(recipe.defaults)).map(textOf)];
  const text = asked.join("\n");
  return ["model", "draft_model"].flatMap((key) => {
    const id = textOr(recipe[key]);
    const isAsked = id === "" || text.includes(`{${key}}`) || text.includes(id);
    const instead = key === "model" ? "model.id" : "speculative.model";
    const why = `its command names another place for it: write it as \`${instead}\` to have it from the hub.`;
    return isAsked ? [] : [{ what: `the recipe's \`${key}\` ${asWritten(id)}`, why, words: [key] }];
  });
}

/** Says of a recipe for several machines how they are declared. */
const nodesOf = (recipe: JsonObject): LeftOut[] =>
  NODES.flatMap((key) => {
    const value = recipe[key];
    return (typeof value === "number" && value > 1) || value === true
      ? [
          {
            what: `the recipe's \`${key}: ${String(value)}\``,
            why: severalMachines(),
            words: [key],
          },
        ]
      : [];
  });

const severalMachines = () =>
  `this stack file is for one machine: ${pageFromProject("docs/guide/two-as-one.md")} describes a server over two.`;

/** The texts of a list, or a text alone. */
const textsOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).filter((each) => typeof each === "string");

const NOT_ASKED = "its command has no such placeholder, so nothing takes the value.";

const unreadKeys = (recipe: JsonObject): LeftOut[] =>
  Object.entries(recipe).flatMap(([key, value]) =>
    READ.has(key) || NODES.includes(key) || isEmpty(value)
      ? []
      : [
          {
            what: `the recipe's \`${key}\``,
            why: ownValue(WHY, key) ?? "it has no setting here.",
            words: [key],
          },
        ],
  );

const isEmpty = (value: unknown): boolean =>
  value === null || (typeof value === "object" && Object.keys(value).length === 0);

/** A recipe without a command has it made of its defaults. */
function made({ defaults }: JsonObject): string {
  const options = Object.entries(objectOr(defaults)).flatMap(([key, value]) => {
    const flag = `--${ownValue(OTHER_NAMES, key) ?? key.replaceAll("_", "-")}`;
    if (value === false || value === null) return [];
    return value === true ? [flag] : [flag, shellWord(textOf(value))];
  });
  return ["vllm serve {model}", ...options].join(" ");
}

const textOf = (value: unknown): string =>
  typeof value === "object" ? JSON.stringify(value) : String(value);

/** A command with the placeholders that are known, `{{` and `}}` being braces in older recipes. */
export function rendered(template: string, values: JsonObject = BUILT_IN): string {
  const doubled = template.includes("{{");
  let text = template;
  for (let pass = 0; pass < PASSES; pass++) {
    text = text.replace(pass === 0 && doubled ? OLD_FORM : PLACEHOLDER, (whole, name?: string) => {
      if (name === undefined) return whole.charAt(0);
      const value = ownValue(values, name);
      return value === undefined || value === null ? whole : textOf(value);
    });
  }
  return text;
}

const PLACEHOLDER = /(?<!\$)\{([A-Za-z_]\w*)\}/g;
const OLD_FORM = /\{\{|(?<!\$)\{([A-Za-z_]\w*)\}|\}\}/g;

const withRevision = (command: string, revision: unknown): string =>
  typeof revision === "string" ? `${command} --revision ${shellWord(revision)}` : command;
