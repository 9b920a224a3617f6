import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { explainWriting, WrongUse } from "@local-serving/base/commandLine/exit";
import { replaceFile } from "@local-serving/base/commandLine/replaceFile";
import { parseJson } from "@local-serving/base/faults/jsonDocument";
import { readTextFile } from "@local-serving/base/faults/textFile";
import { today } from "@local-serving/base/units/dateText";
import { type ModelCache, modelFolder, snapshotConfig } from "@local-serving/machines/hubCache";
import { stringify } from "yaml";
import { isHubId } from "../../components/catalogue";
import { familyOf } from "../../components/inference-server";
import { nameElsewhere } from "../../components/planned/fields";

/**
 * Makes a model's folder with its config.json, out of a file or of a model cache, and a recipe with
 * gaps; returns what was written. Overwrites nothing.
 */
export function addModel(project: string, id: string, from?: string | ModelCache): string[] {
  if (id !== id.trim() || !isHubId(id))
    throw new WrongUse(
      nameElsewhere(id) ??
        `${id.slice(0, SHOWN)}: expected a hub id such as org/model, each part of at most 96 characters.`,
    );
  const folder = join(project, "models", modelFolder(id));
  if (from === undefined)
    throw new WrongUse("Say where its config.json is: --config FILE, or --from-cache.");
  const own = typeof from === "string";
  const source = own ? { file: from, text: readTextFile(from) } : snapshotConfig(from, id);
  if (source === undefined)
    throw new WrongUse(
      `${own ? from : from.path} has no config.json of ${id}: download the model first, or give --config FILE.`,
    );
  const { value } = parseJson(source.file, source.text, { pythonNumbers: true });
  const date = today();
  const recipe = {
    id,
    servedModelName: id.split("/")[1]?.toLowerCase(),
    family: familyOf(value) ?? "other",
    thinking: false,
    config: { from: "model", source: own ? "its own config.json" : "the model cache", date },
    share: {},
    settings: {},
    sources: [],
  };
  const files = [
    ["config.json", source.text],
    ["recipe.yaml", `${SCHEMA}\n${stringify(recipe)}`],
  ] as const;
  const missing = files.filter(([name]) => !existsSync(join(folder, name)));
  if (missing.length === 0)
    throw new WrongUse(`${folder} has both files already; edit them there.`);
  try {
    mkdirSync(folder, { recursive: true });
    return missing.map(([name, text]) => {
      replaceFile(join(folder, name), text, { newFileMode: 0o644 });
      return join(folder, name);
    });
  } catch (error) {
    return explainWriting(folder, error);
  }
}

/** Characters that are shown of what is no id. */
const SHOWN = 200;

const SCHEMA = "# yaml-language-server: $schema=../../docs/reference/model-recipe.schema.json";
