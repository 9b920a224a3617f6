import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { dotted, FaultyInput } from "@local-serving/base/faults/fault";
import { valueBy } from "@local-serving/base/faults/schemaFaults";
import { namesInFolder } from "@local-serving/base/faults/textFile";
import { readYamlFile } from "@local-serving/base/faults/yamlDocument";
import { PROGRAM_FOLDER } from "@local-serving/base/programFolder";
import { modelFolder } from "@local-serving/machines/hubCache";
import { type Recipe, recipe, sourceIssues } from "./recipe";

const MODELS = "models";
const RECIPE = "recipe.yaml";

/** Our recipes as JSON, which `bundle/build.cjs` makes beside our bundles. */
const BUILT = join(__dirname, "catalogue");

/**
 * Every recipe of a project's `models/` and of our catalogue, by the order of their names. Throws
 * `FaultyInput` or `UnreadableInput` for a broken one.
 */
export function readCatalogue(project: string): Recipe[] {
  const folders = [project, PROGRAM_FOLDER].flatMap((each) => namesInFolder(join(each, MODELS)));
  return [...new Set(folders)].sort().flatMap((folder) => recipeIn(keptIn(project, folder)) ?? []);
}

/** The recipe of a model; `undefined` where there is none. Throws as `readCatalogue` does. */
export const readRecipe = (project: string, id: string): Recipe | undefined =>
  recipeIn(modelFiles(project, id));

/** The folder with the files of a model: the project's own, else the one of our catalogue. */
export const modelFiles = (project: string, id: string): string => keptIn(project, modelFolder(id));

function keptIn(project: string, folder: string): string {
  const own = join(project, MODELS, folder);
  return existsSync(own) ? own : join(PROGRAM_FOLDER, MODELS, folder);
}

const recipeIn = (folder: string): Recipe | undefined => builtRecipe(folder) ?? readYaml(folder);

/** The recipe as it was judged when our bundles were built; of ours only. */
function builtRecipe(folder: string): Recipe | undefined {
  const file = join(BUILT, `${basename(folder)}.json`);
  if (dirname(folder) !== join(PROGRAM_FOLDER, MODELS) || !existsSync(file)) return undefined;
  return JSON.parse(readFileSync(file, "utf8")) as Recipe;
}

function readYaml(folder: string): Recipe | undefined {
  const file = join(folder, RECIPE);
  if (!existsSync(file)) return undefined;
  const document = readYamlFile(file);
  const parsed = valueBy(recipe, file, document);
  const { id } = parsed;
  const wrong = folder.endsWith(modelFolder(id))
    ? sourceIssues(parsed)
    : [{ path: ["id"], message: `\`${id}\` belongs in models/${modelFolder(id)}/.` }];
  if (wrong.length === 0) return parsed;
  throw new FaultyInput(
    file,
    wrong.map(({ path, message }) => ({
      path: dotted(path),
      code: "impossible_value",
      message,
      severity: "error" as const,
      ...document.locate(path),
    })),
  );
}
