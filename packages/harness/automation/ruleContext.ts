import { extname } from "node:path";
import { UnreadableInput } from "@local-serving/base/faults/fault";
import { isRecord, jsonIn, textOr } from "@local-serving/base/faults/json";
import { jsonSyntaxFault } from "@local-serving/base/faults/jsonDocument";
import { valueAt } from "@local-serving/base/faults/schemaFaults";
import { readTextFile } from "@local-serving/base/faults/textFile";
import { parseYaml, type SourceDocument } from "@local-serving/base/faults/yamlDocument";
import { parseToml } from "../providers/profile";

/**
 * A config that its schema may have refused, read key by key: a rule about one block still speaks
 * when another block is broken, so that all faults come at once. A value of the wrong type reads as
 * absent; the schema has said so.
 */
export class ConfigView {
  constructor(private readonly config: unknown) {}

  has(path: readonly string[]): boolean {
    return valueAt(this.config, path) !== undefined;
  }

  isMap(path: readonly string[]): boolean {
    return isRecord(valueAt(this.config, path));
  }

  text(path: readonly string[]): string | undefined {
    return textOr(valueAt(this.config, path)) || undefined;
  }

  number(path: readonly string[]): number | undefined {
    const value = valueAt(this.config, path);
    return typeof value === "number" && Number.isFinite(value) ? value : undefined;
  }

  texts(path: readonly string[]): { readonly index: number; readonly text: string }[] {
    const value = valueAt(this.config, path);
    if (!Array.isArray(value)) return [];
    return value.flatMap((text: unknown, index) =>
      typeof text === "string" ? [{ index, text }] : [],
    );
  }
}

/**
 * Reads a YAML or JSON file of the harness. A file named `.json` must be JSON: other readers of it
 * know no YAML. Throws `UnreadableInput`; an empty file is one of the things it throws for.
 */
export function readYamlOrJson(file: string): SourceDocument {
  const text = readTextFile(file);
  const document = parseYaml(file, text);
  if (extname(file).toLowerCase() !== ".json" || jsonIn(text) !== undefined) return document;
  const reason = "is not JSON from here on; YAML is fine in a file that is not named .json";
  throw new UnreadableInput(file, reason, jsonSyntaxFault(text));
}

/**
 * Reads a TOML file. It knows no places, so its faults point at the top. Throws `UnreadableInput`.
 */
export function readToml(file: string): SourceDocument {
  return {
    file,
    value: parseToml(file, readTextFile(file)),
    locate: () => ({ line: 1, column: 1 }),
  };
}
