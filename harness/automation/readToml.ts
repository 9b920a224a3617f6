import { parse, TomlError } from "smol-toml";
import { UnreadableInput } from "../../faults/fault";
import { readTextFile } from "../../faults/textFile";
import type { SourceDocument } from "../../faults/yamlDocument";

/** Reads a TOML file; it knows no places, so its faults stand at the top. Throws `UnreadableInput`. */
export function readToml(file: string): SourceDocument {
  const text = readTextFile(file);
  try {
    return { file, value: parse(text), locate: () => ({ line: 1, column: 1 }) };
  } catch (error) {
    if (error instanceof TomlError) {
      const reason = error.message.split("\n")[0] ?? "";
      throw new UnreadableInput(file, `no valid TOML: ${reason}`, { line: error.line, column: error.column });
    }
    // Anything else is the parser's own limit, such as its stack: the text is at fault, not the program.
    throw new UnreadableInput(file, "no usable TOML: it nests too deeply");
  }
}
