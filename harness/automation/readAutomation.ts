import { extname } from "node:path";
import { UnreadableInput } from "../../faults/fault";
import { readTextFile } from "../../faults/textFile";
import { parseYaml, type SourceDocument } from "../../faults/yamlDocument";

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
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const position = /at position (\d+)/.exec(reason)?.[1];
    if (position === undefined) throw new UnreadableInput(file, "is not JSON: it ends too early");
    const before = text.slice(0, Number(position)).split("\n");
    throw new UnreadableInput(file, "is YAML but not JSON; a .json file must be plain JSON from here on", {
      line: before.length,
      column: (before.at(-1) ?? "").length + 1,
    });
  }
}
