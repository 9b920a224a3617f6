import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { dotted, FaultyInput } from "../../faults/fault";
import { valueBy } from "../../faults/schemaFaults";
import { readYamlFile } from "../../faults/yamlDocument";
import { modelFolder } from "../../machines/hubCache";
import { type Recipe, recipe, sourceIssues } from "./recipe";

const RECIPE = "recipe.yaml";

/**
 * Every recipe of a project's `models/`, by the order of their names. Throws `FaultyInput` or
 * `UnreadableInput` for a broken one.
 */
export function readCatalogue(project: string): Recipe[] {
  const models = join(project, "models");
  const folders = existsSync(models) ? readdirSync(models).sort() : [];
  return folders.flatMap((folder) => readRecipe(join(models, folder)) ?? []);
}

/**
 * The recipe in a model's folder; `undefined` where there is none. Throws as `readCatalogue` does.
 */
export function readRecipe(folder: string): Recipe | undefined {
  const file = join(folder, RECIPE);
  if (!existsSync(file)) return undefined;
  const document = readYamlFile(file);
  const parsed = valueBy(recipe, file, document);
  const { id } = parsed;
  const wrong = folder.endsWith(modelFolder(id))
    ? sourceIssues(parsed)
    : [{ path: ["id"], message: `\`${id}\` belongs into models/${modelFolder(id)}/.` }];
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
