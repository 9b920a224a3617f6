import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readJsonFile } from "@local-serving/base/faults/jsonDocument";
import { valueBy } from "@local-serving/base/faults/schemaFaults";
import { namesInFolder } from "@local-serving/base/faults/textFile";
import { PROGRAM_FOLDER } from "@local-serving/base/programFolder";
import { type ModelStarts, otherStartsSchema, startsFileSchema } from "../planned/schema";

const MODELS = join(PROGRAM_FOLDER, "models");

/** Starts of one model in its folder; in `models/` itself, of models that have no folder. */
export const STARTS = "starts.json";

/** All of them as one file, which `bundle/build.cjs` makes beside our bundles. */
const BUILT = join(__dirname, "catalogue", STARTS);

/** Every start that our catalogue knows. Throws `FaultyInput` or `UnreadableInput` for a broken file. */
export function readKnownStarts(): readonly ModelStarts[] {
  if (existsSync(BUILT)) return JSON.parse(readFileSync(BUILT, "utf8")) as readonly ModelStarts[];
  const ofCatalogue = namesInFolder(MODELS).flatMap((folder) => {
    const file = join(MODELS, folder, STARTS);
    if (!existsSync(file)) return [];
    const starts = valueBy(startsFileSchema, file, readJsonFile(file));
    return [{ model: folder.replace("--", "/"), ...starts }];
  });
  const others = join(MODELS, STARTS);
  return [...ofCatalogue, ...valueBy(otherStartsSchema, others, readJsonFile(others)).models];
}
