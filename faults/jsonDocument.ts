import { readFileSync } from "node:fs";
import { UnreadableInput } from "./fault";
import { parseYaml, readFailure, type SourceDocument } from "./yamlDocument";

/** Python writes these where JSON has no number; they are read as null. */
const PYTHON_NUMBERS = /(?<=[:[,]\s*)-?(?:Infinity|NaN)(?=\s*[,\]}])/g;

/** Reads a file that has to be JSON, not just YAML. Throws `UnreadableInput` when it can't be read or is not JSON. */
export function readJsonFile(file: string): SourceDocument {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new UnreadableInput(file, readFailure(error));
  }
  return parseJson(file, text);
}

/** Parses JSON text; the places of its values are looked up only when somebody asks for one. */
export function parseJson(file: string, text: string): SourceDocument {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(PYTHON_NUMBERS, "null"));
  } catch (error) {
    throw new UnreadableInput(
      file,
      `no valid JSON: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  let places: SourceDocument | undefined;
  return {
    file,
    value,
    locate: (path, part) => {
      places ??= parseYaml(file, text);
      return places.locate(path, part);
    },
  };
}
