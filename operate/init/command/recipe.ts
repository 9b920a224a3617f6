import { ownValue } from "../../../faults/defined";
import { type JsonObject, objectOr, textOr } from "../../../faults/json";
import { shellWord } from "../../../faults/shellWords";
import { asWritten, type LeftOut, refuseCommand } from "./words";

/** A recipe of sparkrun or of spark-vllm-docker as the command that it starts. */
export interface RecipeCommand {
  readonly command: string;
  readonly image?: string;
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
  ...["model", "model_revision", "container", "defaults", "env", "command"],
  ...["solo_only", "cluster_only", "min_nodes", "max_nodes"],
]);

/** Why a key of a recipe has no place in a stack file. */
const WHY: Readonly<Record<string, string>> = {
  mods: "they change the image's files as it starts, which this program doesn't do: pin an image that has these changes.",
  build_args: "this program builds no images: pin one that was built with them.",
};

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
  const defaults = { ...objectOr(recipe.defaults), model: recipe.model };
  const command = textOr(recipe.command).trim();
  const template = command || made(recipe);
  const image = textOr(recipe.container);
  return {
    command: withRevision(rendered(template, { ...BUILT_IN, ...defaults }), recipe.model_revision),
    ...(image === "" ? {} : { image }),
    variables: new Map(
      Object.entries(objectOr(recipe.env)).map(([name, value]) => [name, String(value)]),
    ),
    leftOut: [...(command === "" ? [] : unusedDefaults(command, defaults)), ...unreadKeys(recipe)],
  };
}

/** Defaults that neither the command nor another default asks for. */
function unusedDefaults(template: string, { model: _, ...defaults }: JsonObject): LeftOut[] {
  const asked = [template, ...Object.values(defaults).map(textOf)].join("\n");
  const used = new Set([...asked.matchAll(PLACEHOLDER)].map(([, name]) => name));
  return Object.keys(defaults).flatMap((name) =>
    used.has(name) || Object.hasOwn(BUILT_IN, name)
      ? []
      : [{ what: `the recipe's default \`${asWritten(name)}\``, why: NOT_ASKED, words: [name] }],
  );
}

const NOT_ASKED = "its command has no such placeholder, so nothing takes the value.";

const unreadKeys = (recipe: JsonObject): LeftOut[] =>
  Object.entries(recipe).flatMap(([key, value]) =>
    READ.has(key) || isEmpty(value)
      ? []
      : [
          {
            what: `the recipe's \`${key}\``,
            why: ownValue(WHY, key) ?? "only sparkrun reads it.",
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
