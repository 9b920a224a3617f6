import { defined } from "@local-serving/base/faults/defined";
import { isSecretName } from "@local-serving/base/faults/secrets";
import { standIn } from "../command/words";
import { plainWords, variableIn } from "./container";

/** Values of each key of a section, in their order. */
export type UnitSection = ReadonlyMap<string, readonly string[]>;

/** A file of systemd's form. */
export interface UnitFile {
  readonly sections: ReadonlyMap<string, UnitSection>;
  /** The line of a key that still has a value, of its last one; without a key, of the section. */
  lineAt(section: string, key?: string): number | undefined;
}

/** Whether a text has a section of this name, and isn't a script that writes such a file. */
export function hasSection(text: string, name: string): boolean {
  const { index } = new RegExp(`^[ \\t]*\\[${name}\\][ \\t]*$`, "m").exec(text) ?? {};
  return index !== undefined && !DOCUMENT.test(text.slice(0, index));
}

/** The beginning of a shell's here-document. */
const DOCUMENT = /<<-?[ \t]*["'\\]?[A-Za-z_]\w*/;

/** A unit of a text, and the line of the section that starts something. */
export interface FoundUnit {
  readonly unit: UnitFile;
  readonly line: number;
  /** What its file is called without its ending, where a remark of a text with several says it. */
  readonly called?: string;
}

/** The units of a text: one, or each of several files that stand in it one behind the other. */
export function unitsIn(text: string): readonly [FoundUnit, ...FoundUnit[]] {
  const lines = text.split("\n");
  const heads = lines.flatMap((line, at) => {
    const [, name] = HEADING.exec(line) ?? [];
    return name === undefined ? [] : [{ at, name }];
  });
  const blocks = heads.map((head, index) => {
    const inside = lines.slice(head.at + 1, heads[index + 1]?.at);
    return { ...head, isStart: isStart(head.name, inside) };
  });
  const [first = { at: 0 }, ...others] = blocks.filter((block) => block.isStart);
  let last = first.at;
  const cuts = others.map(({ at }) => {
    const begins = blocks.find((block) => block.at > last && (block.at === at || opens(block)));
    last = at;
    return remarksAbove(begins?.at ?? at, lines);
  });
  const found = [first, ...others].map(({ at }, index) => {
    const [from, to] = [cuts[index - 1] ?? 0, cuts[index] ?? lines.length];
    // Lines of another file are left empty, so that each keeps its number.
    const own = lines.map((line, each) => (each >= from && each < to ? line : ""));
    const [, called] = own.flatMap((each) => OF_FILE.exec(each) ?? []);
    return { unit: unitFile(own.join("\n")), line: at + 1, ...defined({ called }) };
  });
  const [head = { unit: unitFile(text), line: 1 }, ...more] = found;
  return [head, ...more];
}

/** A remark that names the file below it. */
const OF_FILE = /^\s*[#;].*?([\w@.-]+)\.(?:container|service)\b/;

const HEADING = /^[ \t]*\[([^\]]+)\][ \t]*$/;

/**
 * Whether a section starts something. One that only changes what stands before it, as a drop-in of
 * `systemctl cat` does, clears the command first or has none.
 */
function isStart(name: string, inside: readonly string[]): boolean {
  const key = STARTS[name];
  const line = key && inside.find((each) => each.trimStart().startsWith(key));
  return key !== undefined && line !== undefined && line.trim() !== key;
}

const STARTS: Readonly<Record<string, string | undefined>> = {
  Container: "Image=",
  Service: "ExecStart=",
};

/** Whether a section is the first one of a file. */
const opens = ({ name }: { readonly name: string }): boolean =>
  /^(?:Unit|Container|Volume|Network|Pod|Kube|Image|Build)$/.test(name);

/** The first of the remarks and empty lines above a line. */
function remarksAbove(at: number, lines: readonly string[]): number {
  let begins = at;
  while (begins > 0 && /^\s*(?:[#;].*)?$/.test(lines[begins - 1] ?? "")) begins--;
  return begins;
}

/** Reads a unit: a line that ends with a backslash goes on, and an empty value clears what was before. */
function unitFile(text: string): UnitFile {
  const sections = new Map<string, Map<string, string[]>>();
  const lines = new Map<string, number>();
  let [called, section] = ["", new Map<string, string[]>()];
  for (const { line, text: whole } of logicalLines(text)) {
    const [, name] = /^\[([^\]]+)\]\s*$/.exec(whole) ?? [];
    if (name !== undefined) {
      called = name;
      section = sections.get(name) ?? new Map<string, string[]>();
      sections.set(name, section);
      lines.set(`${name}.`, line);
    }
    const [, key, value = ""] = /^([A-Za-z][\w-]*)\s*=\s*([\s\S]*)$/.exec(whole) ?? [];
    if (key === undefined) continue;
    const values = value === "" ? [] : (section.get(key) ?? []);
    if (value !== "") values.push(value);
    section.set(key, values);
    lines.set(`${called}.${key}`, line);
  }
  return { sections, lineAt: (name, key = "") => lines.get(`${name}.${key}`) };
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
