import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { WrongUse } from "../../commandLine/exit";
import { modelFolder } from "../../components/catalogue/readCatalogue";
import { operatorHome } from "../../components/evidence/readEvidence";
import { snapshotConfig } from "../../components/evidence/readModels";
import { familyOf } from "../../components/inference-server/parsers";
import { onMachine } from "../../components/planned/evidence";
import { readJsonFile } from "../../faults/jsonDocument";
import { readTextFile } from "../../faults/textFile";
import { replaceFile } from "../../harness/files/replaceFile";

/** Makes a model's folder with its config.json and a recipe with gaps; returns what was written. Overwrites nothing. */
export function addModel(project: string, id: string, config?: string, cache?: string): string[] {
  if (!/^[\w.-]+\/[\w.-]+$/.test(id)) throw new WrongUse(`${id}: expected a hub id such as org/model.`);
  const folder = join(project, "models", modelFolder(id));
  const source =
    config ?? (cache === undefined ? undefined : snapshotConfig(onMachine(cache, { home: operatorHome() }), id));
  if (source === undefined)
    throw new WrongUse(
      cache === undefined
        ? "Say where its config.json is: --config FILE, or --from-cache."
        : `${cache} has no config.json of ${id}: load the model first, or give --config FILE.`,
    );
  const { value } = readJsonFile(source, { pythonNumbers: true });
  const date = new Date().toISOString().slice(0, 10);
  const recipe = {
    id,
    servedModelName: id.split("/")[1]?.toLowerCase(),
    family: familyOf(value) ?? "other",
    thinking: false,
    config: { from: "model", source: config === undefined ? "the model cache" : "its own config.json", date },
    share: {},
    settings: {},
    sources: [],
  };
  const files = [
    ["config.json", readTextFile(source)],
    ["recipe.yaml", `${SCHEMA}\n${stringify(recipe)}`],
  ] as const;
  const missing = files.filter(([name]) => !existsSync(join(folder, name)));
  if (missing.length === 0) throw new WrongUse(`${folder} has both files already; edit them there.`);
  mkdirSync(folder, { recursive: true });
  return missing.map(([name, text]) => {
    replaceFile(join(folder, name), text, { newFileMode: 0o644 });
    return join(folder, name);
  });
}

const SCHEMA = "# yaml-language-server: $schema=../../docs/reference/model-recipe.schema.json";
