import { isSecretName } from "../../../faults/secrets";
import { standIn } from "../command/words";
import { plainWords, variableIn } from "./container";

/** Values of each key of a section, in their order. */
export type Section = ReadonlyMap<string, readonly string[]>;

/** A file of systemd's form. */
export interface UnitFile {
  readonly sections: ReadonlyMap<string, Section>;
  /** The line of a key that still has a value, of its last one. */
  lineAt(section: string, key: string): number | undefined;
}

/** Whether a text has a section of this name, and isn't a script that writes such a file. */
export function hasSection(text: string, name: string): boolean {
  const { index } = new RegExp(`^[ \\t]*\\[${name}\\][ \\t]*$`, "m").exec(text) ?? {};
  return index !== undefined && !DOCUMENT.test(text.slice(0, index));
}

/** The beginning of a shell's here-document. */
const DOCUMENT = /<<-?[ \t]*["'\\]?[A-Za-z_]\w*/;

/** Reads a unit: a line that ends with a backslash goes on, and an empty value clears what was before. */
export function unitFile(text: string): UnitFile {
  const sections = new Map<string, Map<string, string[]>>();
  const lines = new Map<string, number>();
  let [called, section] = ["", new Map<string, string[]>()];
  for (const { line, text: whole } of logicalLines(text)) {
    const [, name] = /^\[([^\]]+)\]\s*$/.exec(whole) ?? [];
    if (name !== undefined) {
      called = name;
      section = sections.get(name) ?? new Map<string, string[]>();
      sections.set(name, section);
    }
    const [, key, value = ""] = /^([A-Za-z][\w-]*)\s*=\s*([\s\S]*)$/.exec(whole) ?? [];
    if (key === undefined) continue;
    const values = value === "" ? [] : (section.get(key) ?? []);
    if (value !== "") values.push(value);
    section.set(key, values);
    lines.set(`${called}.${key}`, line);
  }
  return { sections, lineAt: (name, key) => lines.get(`${name}.${key}`) };
}

/** A line of a unit without comments, those that go on put together, and where it begins. */
interface LogicalLine {
  readonly line: number;
  readonly text: string;
}

function logicalLines(text: string): LogicalLine[] {
  const lines: LogicalLine[] = [];
  let parts: string[] | undefined;
  let begun = 0;
  const end = () => lines.push({ line: begun, text: parts?.join(" ") ?? "" });
  for (const [index, raw] of text.split("\n").entries()) {
    const line = raw.trimEnd();
    // A comment may stand among the lines of one value.
    if (/^\s*[#;]/.test(line)) continue;
    const goesOn = line.endsWith("\\");
    const part = goesOn ? line.slice(0, -1) : line;
    if (parts === undefined) [parts, begun] = [[part.trimStart()], index + 1];
    else parts.push(part);
    if (goesOn) continue;
    end();
    parts = undefined;
  }
  if (parts !== undefined) end();
  return lines;
}

/** The variables of `Environment=`. */
export function environmentOf(values: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const word of values.flatMap((value) => plainWords(withSpecifiers(value)))) {
    const [name, value = ""] = variableIn(word);
    found.set(name, value);
  }
  return found;
}

/** What systemd alone knows of a value (`%h`, `%i`) as what only a shell knows; `%%` is one `%`. */
export const withSpecifiers = (value: string): string =>
  value.replace(/%(.)/g, (whole, letter: string) =>
    letter === "%" ? "%" : /[A-Za-z]/.test(letter) ? standIn(whole) : whole,
  );

/** The words of a command, with its variables. A word that is one variable may be several words. */
export function unitWords(command: string, variables: ReadonlyMap<string, string>): string[] {
  const known = (name: string) => (isSecretName(name) ? undefined : variables.get(name));
  return plainWords(withSpecifiers(command)).flatMap((word) => {
    const [, alone = ""] = /^\$([A-Za-z_]\w*)$/.exec(word) ?? [];
    const value = known(alone);
    if (value !== undefined) return plainWords(value);
    return word.replace(
      // A unit has no defaults: all between the braces is a name.
      /\$\$|\$\{([A-Za-z_][^{}\s]*)\}|\$([A-Za-z_]\w*)/g,
      (whole, braced?: string, bare?: string) =>
        whole === "$$" ? "$" : (known(braced ?? bare ?? "") ?? standIn(whole)),
    );
  });
}
