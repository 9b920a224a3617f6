import { isSecretName } from "../../../faults/secrets";
import { standIn } from "../command/words";
import { plainWords, variableIn } from "./container";

/** A file of systemd's form: values of each key, in their order, by section. */
export type UnitFile = ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;

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
  let section = new Map<string, string[]>();
  for (const line of logicalLines(text)) {
    const [, name] = /^\[([^\]]+)\]\s*$/.exec(line) ?? [];
    if (name !== undefined) {
      section = sections.get(name) ?? new Map<string, string[]>();
      sections.set(name, section);
    }
    const [, key, value = ""] = /^([A-Za-z][\w-]*)\s*=\s*([\s\S]*)$/.exec(line) ?? [];
    if (key === undefined) continue;
    const values = value === "" ? [] : (section.get(key) ?? []);
    if (value !== "") values.push(value);
    section.set(key, values);
  }
  return sections;
}

/** Lines of a unit without its comments, those that go on put together. */
function logicalLines(text: string): string[] {
  const lines: string[] = [];
  let parts: string[] | undefined;
  for (const raw of text.split("\n")) {
    const line = raw.trimEnd();
    // A comment may stand among the lines of one value.
    if (/^\s*[#;]/.test(line)) continue;
    const goesOn = line.endsWith("\\");
    const part = goesOn ? line.slice(0, -1) : line;
    if (parts === undefined) parts = [part.trimStart()];
    else parts.push(part);
    if (goesOn) continue;
    lines.push(parts.join(" "));
    parts = undefined;
  }
  return parts === undefined ? lines : [...lines, parts.join(" ")];
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
