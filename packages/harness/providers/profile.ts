import { UnreadableInput } from "@local-serving/base/faults/fault";
import { sizeRefusal } from "@local-serving/base/faults/json";
import { type Places, pathKey, placeIn } from "@local-serving/base/faults/jsonDocument";
import { readTextFile } from "@local-serving/base/faults/textFile";
import type { SourceDocument } from "@local-serving/base/faults/yamlDocument";
import { parse, TomlError } from "smol-toml";
import { type NaiveProfile, readNaively } from "./naiveReader";
import { DEEPEST_PATH, LONGEST_KEY, type TomlStatement, tomlStatements } from "./tomlStatements";

/**
 * A providers profile in both readings: as TOML means it, and as the harness's own reader takes it.
 */
export interface ProfileDocument extends SourceDocument {
  readonly text: string;
  readonly statements: readonly TomlStatement[];
  readonly naive: NaiveProfile;
}

/** Reads a profile. Throws `UnreadableInput` when the file can't be read or isn't TOML. */
export const readProfile = (file: string): ProfileDocument =>
  parseProfile(file, readTextFile(file));

/** Parses a profile's text. Throws `UnreadableInput`, whose message never quotes the text. */
export function parseProfile(file: string, text: string): ProfileDocument {
  const value = parseToml(file, text);
  const large = sizeRefusal(value);
  if (large !== undefined) throw new UnreadableInput(file, large);
  const statements = [...tomlStatements(text)];
  const long = statements.find(({ written }) => written.length > LONGEST_KEY);
  if (long !== undefined) {
    const { line, column } = long;
    throw new UnreadableInput(file, `a key or header is longer than ${LONGEST_KEY} characters`, {
      line,
      column,
    });
  }
  const places: Places = new Map();
  for (const statement of statements) {
    const { line, column, valueColumn } = statement;
    const key = { line, column };
    const path = statement.path.slice(0, DEEPEST_PATH);
    for (let length = 1; length <= path.length; length++) {
      const name = pathKey(path.slice(0, length));
      const whole = length === path.length;
      if (whole || !places.has(name))
        places.set(name, { key, value: whole ? { line, column: valueColumn } : key });
    }
  }
  return {
    file,
    text,
    value,
    statements,
    naive: readNaively(text),
    locate: (path, part) => placeIn(places, path, part),
  };
}

/** Deepest nesting of lists and inline tables that is read; a profile needs three levels. */
const DEEPEST_NESTING = 100;

/** Parses TOML text. Throws `UnreadableInput`, which never quotes the text. */
export function parseToml(file: string, text: string): unknown {
  try {
    return parse(text, { maxDepth: DEEPEST_NESTING });
  } catch (error) {
    if (!(error instanceof TomlError))
      throw new UnreadableInput(file, "not valid TOML: it is nested too deeply to be read");
    // Behind its first line the message quotes the file, which may hold a key that was pasted by
    // mistake.
    const [summary = ""] = error.message.split("\n");
    const reason = summary.replace(/^Invalid TOML document: /, "");
    throw new UnreadableInput(file, `not valid TOML: ${reason}`, {
      line: error.line,
      column: error.column,
    });
  }
}
