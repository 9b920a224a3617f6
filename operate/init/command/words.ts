import { WrongUse } from "../../../commandLine/exit";
import { redactSecrets } from "../../../faults/secrets";
import { simpleCommands } from "../../../vllm/argv/shellScript";
import { isText } from "../../../vllm/argv/unknown";

/** Around what only a shell knows: characters that nobody writes in a command. */
const [OPEN, CLOSE] = ["\u{E000}", "\u{E001}"];
const STAND_IN = new RegExp(`${OPEN}([^${OPEN}${CLOSE}]*)${CLOSE}`, "g");

/** Something of a command that the stack file does not carry, and why. */
export interface LeftOut {
  readonly what: string;
  readonly why: string;
}

/** An assignment as a shell has it: `NAME=value`. */
const ASSIGNMENT = /^([A-Za-z_]\w*)=([\s\S]*)$/;

/**
 * The simple commands of a text that somebody published, as words. A variable that the text sets
 * has its value; any other stays as it is written, which `expansions` finds.
 */
export function wordsIn(text: string): string[][] {
  const plain = text
    .replaceAll("\r\n", "\n")
    // The fences of a page in Markdown come with the copying.
    .replace(/^[ \t]*(?:```|~~~).*$/gm, "")
    // So do a blank behind a line's last backslash, and the prompt in front. The rest stays in place.
    .replace(/\\[ \t]+\n/g, "\\\n")
    .replace(/^[ \t]*\$ /gm, (prompt) => " ".repeat(prompt.length));
  const set = new Map<string, string>();
  for (const command of read(plain, new Map())) {
    const words = command[0] === "export" ? command.slice(1) : command;
    const [last] = words.slice(-1);
    if (last === undefined || !words.every((word) => ASSIGNMENT.test(word))) continue;
    for (const [name, value] of words.map(assigned)) if (value !== "") set.set(`$${name}`, value);
  }
  return read(plain, set);
}

/** What a person calls the characters that open something. */
const OPENERS: Readonly<Record<string, string>> = {
  "'": "single quote (')",
  '"': 'double quote (")',
  "`": "backtick (`)",
};

function read(text: string, set: ReadonlyMap<string, string>): string[][] {
  const standIn = (expansion: string) => set.get(expansion) ?? `${OPEN}${expansion}${CLOSE}`;
  const unclosed = (opener: string, at: number) => {
    const lines = text.slice(0, at).split("\n");
    const [line, column] = [lines.length, (lines.at(-1) ?? "").length + 1];
    // What stands behind it may be a key, so it isn't shown.
    refuseCommand(
      `The ${OPENERS[opener] ?? opener} in line ${line}, column ${column} is never closed.`,
    );
  };
  const scope = { parameters: [], variables: new Map(), standIn, unclosed };
  const commands = simpleCommands(text, scope);
  return commands.map((words) => words.filter(isText));
}

/** The name and value of an assignment, or of a variable without a value. */
export function assigned(word: string): [name: string, value: string] {
  const [, name = word, value = ""] = ASSIGNMENT.exec(word) ?? [];
  return [name, value];
}

export const isAssignment = (word: string): boolean => ASSIGNMENT.test(word);

/** What only a shell knows of a word: `$HOME`, `$(pwd)`. */
export const expansions = (word: string): string[] =>
  [...word.matchAll(STAND_IN)].map(([, expansion = ""]) => expansion);

/** A word as it was written, without any secret. */
export const asWritten = (word: string): string => redactSecrets(word.replace(STAND_IN, "$1"));

/** What a text that somebody published is called where no server can be made of it. */
export const COMMAND = "--from-command";

/** Refuses a command, with every reason. */
export function refuseCommand(...reasons: readonly string[]): never {
  throw new WrongUse(`${COMMAND}: ${reasons.join(" ")}`);
}
