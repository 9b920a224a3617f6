import { extname } from "node:path";
import { UnreadableInput } from "../../faults/fault";
import { jsonSyntaxFault } from "../../faults/jsonDocument";
import { readTextFile } from "../../faults/textFile";
import { parseYaml, type SourceDocument } from "../../faults/yamlDocument";
import { parseToml } from "../providers/profile";

/**
 * Reads a YAML or JSON file of the harness. A file named `.json` must be JSON: other readers of it know no YAML.
 * Throws `UnreadableInput`; an empty file is one of the things it throws for.
 */
export function readYamlOrJson(file: string): SourceDocument {
  const text = readTextFile(file);
  const document = parseYaml(file, text);
  if (extname(file).toLowerCase() === ".json") requireJson(file, text);
  return document;
}

function requireJson(file: string, text: string): void {
  try {
    JSON.parse(text);
  } catch {
    const reason = "is not JSON from here on; YAML is fine in a file that is not named .json";
    throw new UnreadableInput(file, reason, jsonSyntaxFault(text));
  }
}

/** Reads a TOML file. It knows no places, so its faults point at the top. Throws `UnreadableInput`. */
export function readToml(file: string): SourceDocument {
  return { file, value: parseToml(file, readTextFile(file)), locate: () => ({ line: 1, column: 1 }) };
}
