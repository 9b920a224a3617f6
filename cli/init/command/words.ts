import { WrongUse } from "@local-serving/base/commandLine/exit";
import { lowered } from "@local-serving/base/faults/quoting";
import { redactSecrets } from "@local-serving/base/faults/secrets";
import { simpleCommands } from "@local-serving/vllm/argv/shellScript";
import { isText, type Word } from "@local-serving/vllm/argv/unknown";
import { LineCounter } from "yaml";
import type { Decisions } from "./blocks";
import { type Alternative, type Picked, type ScriptFile, ScriptState } from "./scriptState";

/** Around what only a shell knows: characters that nobody writes in a command. */
export const OPEN = "\u{E000}";
const CLOSE = "\u{E001}";
const STAND_IN = new RegExp(`${OPEN}([^${OPEN}${CLOSE}]*)${CLOSE}`, "g");

/** Something of a command that the stack file does not carry, and why. */
export interface LeftOut {
  readonly what: string;
  readonly why: string;
  /** The line of the text that has it, where that is known. */
  readonly line?: number;
  /** The same of several servers that have it. */
  readonly lines?: readonly number[];
  /** Words that its line has, the surest first: by them its line is found. */
  readonly words?: readonly string[];
}

/** The simple commands of a text that somebody published, and what else it holds. */
export interface ScriptRead {
  readonly commands: readonly ScriptCommand[];
  /** Its here-documents that are no commands. */
  readonly documents: readonly ScriptFile[];
  /** Values that a variable may have, by the branches that set them. */
  readonly alternatives: ReadonlyMap<string, readonly Alternative[]>;
  /** Values that it takes of arrays with other keys beside theirs. */
  readonly picked: readonly Picked[];
  /** Files that it reads as parts of itself, and that aren't at hand. */
  readonly sourced: readonly SourcedFile[];
}

/** A file that a script reads as a part of itself. */
export interface SourcedFile {
  /** As the script names it: `"$RECIPE"`, `./model.env`. */
  readonly file: string;
  readonly line: number;
}

/** A simple command: a variable that isn't known stays as it is written, which `expansions` finds. */
export interface ScriptCommand {
  readonly words: readonly string[];
  /** It runs only where an `if`, a `case` or a loop around it says so. */
  readonly isOptional: boolean;
  /** The line of the text that it begins in, where that is known. */
  readonly line?: number;
}

/** What a shell is given beside its script. */
export interface ShellGiven {
  readonly variables?: ReadonlyMap<string, string>;
  /** Branches that it takes. */
  readonly decided?: Decisions;
  /** The text of a file that the script reads as a part of itself, where it is at hand. */
  readonly beside?: ((name: string) => string | undefined) | undefined;
  /** The words behind `-c SCRIPT`. */
  readonly parameters?: readonly Word[];
}

/**
 * Reads a text as a shell does, as far as can be told without running it: a variable has the value
 * that the text gives it, else the default that stands in `${NAME:-default}`.
 */
export function scriptIn(text: string, shell: ShellGiven = {}): ScriptRead {
  const plain = text
    // What another shell didn't know is written as a shell has it, so that this one may know it.
    .replace(STAND_IN, (whole, inner: string) => (inner.startsWith("$") ? inner : whole))
    .replaceAll("\r\n", "\n")
    // The fences of a page in Markdown come with the copying.
    .replace(/^[ \t]*(?:```|~~~).*$/gm, "")
    // What is to be filled in is no redirection.
    .replace(TO_FILL, (whole) => standIn(kept(whole)))
    // So do a blank behind a line's last backslash, and the prompt in front. The rest stays in place.
    .replace(/\\[ \t]+\n/g, "\\\n")
    .replace(/^[ \t]*\$ /gm, blanks);
  // A terminal puts a sign in front of each line that goes on.
  const script = /^[ \t]*\$ /m.test(text) ? plain.replace(/(?<=\\\n)[ \t]*> /g, blanks) : plain;
  // A value without quotes is split at its blanks, and what only a shell knows is one word of it.
  const standsIn = (expansion: string) => standIn(kept(expansion));
  const state = new ScriptState(standsIn, evaluable, shell);
  const unclosed = (opener: string, at: number) => {
    const lines = plain.slice(0, at).split("\n");
    const [line, column] = [lines.length, (lines.at(-1) ?? "").length + 1];
    // What stands behind it may be a key, so it isn't shown.
    refuseCommand(
      `The ${OPENERS[opener] ?? opener} in line ${line}, column ${column} is never closed.`,
    );
  };
  const { parameters = [] } = shell;
  const scope = { parameters, variables: new Map(), standIn: standsIn, unclosed };
  const commands = simpleCommands(script, { ...scope, follows: state });
  const lineAt = linesOf(script);
  return {
    commands: commands.map((words) => ({
      words: words.map((word) => (isText(word) ? restored(word) : standIn("$@"))),
      isOptional: state.optional.has(words),
      ...lineAt(state.places.get(words)),
    })),
    alternatives: state.alternatives,
    picked: state.picked,
    sourced: state.sourced.flatMap((at) => sourcedFile(script, lineAt(at).line ?? 1)),
    documents: state.documents.map(({ text: written, ...of }) => ({
      ...of,
      text: restored(written),
    })),
  };
}

/** `<model>`, `<your token>`: a word in brackets, where a redirection would have a blank or a letter. */
const TO_FILL = /(?<![<\w$&>)}])<[A-Za-z][\w./-]*(?: [\w./-]+){0,4}>(?![\w&<>])/g;

/** Signs that mean something to a shell, and what stands for each while it reads. */
const SIGNS = [
  ["<", "\u{E002}"],
  [">", "\u{E003}"],
  [" ", "\u{E004}"],
  ["\n", "\u{E005}"],
  ["\t", "\u{E006}"],
] as const;

const kept = (text: string): string =>
  SIGNS.reduce((made, [sign, other]) => made.replaceAll(sign, other), text);

const restored = (text: string): string =>
  SIGNS.reduce((made, [sign, other]) => made.replaceAll(other, sign), text);

/** Tells the line of a place in a text. */
function linesOf(text: string) {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (const { index } of text.matchAll(/\n/g)) lines.addNewLine(index + 1);
  return (at: number | undefined) => (at === undefined ? {} : { line: lines.linePos(at).line });
}

/** The file that a line of a script reads as a part of it. */
function sourcedFile(script: string, line: number): readonly SourcedFile[] {
  const text = script.split("\n", line)[line - 1] ?? "";
  const [, file] = SOURCED.exec(text) ?? [];
  return file === undefined ? [] : [{ file: restored(file), line }];
}

const SOURCED = /(?:^|[\s;&|{(])(?:\.|source)\s+("[^"]*"|'[^']*'|[^\s;&|)}]+)/;

/** A text as a shell reads it again; `undefined` where another program writes a part of it. */
const evaluable = (text: string): string | undefined =>
  expansions(text).every((each) => /^\$\{?\w+\}?$/.test(each))
    ? restored(text.replace(STAND_IN, "$1"))
    : undefined;

const blanks = (prompt: string): string => " ".repeat(prompt.length);

/** Text that stands for what only a shell knows. */
export const standIn = (expansion: string): string => `${OPEN}${expansion}${CLOSE}`;

/** What a person calls the characters that open something. */
const OPENERS: Readonly<Record<string, string>> = {
  "'": "single quote (')",
  '"': 'double quote (")',
  "`": "backtick (`)",
};

/** What only a shell knows of a word: `$HOME`, `$(pwd)`. */
export const expansions = (word: string): string[] =>
  [...word.matchAll(STAND_IN)].map(([, expansion = ""]) => expansion);

/** The one variable of the operator's shell that a value is: `$MY_TOKEN` is MY_TOKEN. */
export function shellVariable(
  value: string,
  form = /^\$\{?([A-Z_][A-Z0-9_]*)/,
): string | undefined {
  const [only, ...more] = expansions(value);
  return more.length === 0 ? form.exec(only ?? "")?.[1] : undefined;
}

/** A word as it was written, without any secret. */
export const asWritten = (word: string): string => redactSecrets(word.replace(STAND_IN, "$1"));

/** What a text that somebody published is called where no server can be made of it. */
export const COMMAND = "--from-command";

/** Refuses a command, with every reason. */
export function refuseCommand(...reasons: readonly string[]): never {
  throw new WrongUse(`${COMMAND}: ${reasons.join(" ")}`);
}

/** What a work gives, or its refusal of the command. */
export function unlessRefused<Result>(work: () => Result): Result | WrongUse {
  try {
    return work();
  } catch (error) {
    if (error instanceof WrongUse) return error;
    throw error;
  }
}

/** The reasons of a refusal, as they stand behind the name of what is left out for them. */
export function reasonOf({ message }: WrongUse, name: string): string {
  const reason = message.slice(`${COMMAND}: `.length);
  const clause = lowered(reason);
  return clause.startsWith(`${name} `) ? `it${clause.slice(name.length)}` : clause;
}
