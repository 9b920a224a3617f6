import { existsSync } from "node:fs";
import { WrongUse } from "@local-serving/base/commandLine/exit";
import { UnreadableInput } from "@local-serving/base/faults/fault";
import { readTextFile } from "@local-serving/base/faults/textFile";
import { COMMAND } from "../command/words";
import type { Published } from "./source";

/** A text that was given on the command line, and how it is called there. */
export interface Given extends Published {
  readonly source: string;
}

/**
 * What was given: `-` is stdin, of which `stdin` is the name, and the name of a file is opened.
 * `undefined` for a word that is neither a file nor a command. Throws `UnreadableInput`.
 */
export async function givenText(given: string, stdin: string): Promise<Given | undefined> {
  if (given === "-") return { text: await fromStdin(stdin), source: stdin.replace(/ -$/, "") };
  if (!given.includes("\n") && existsSync(given)) return fileText(given);
  if (/\s/.test(given.trim())) return { text: given, source: "the command" };
  return FILE.test(given) ? fileText(given) : undefined;
}

const fileText = (file: string): Given => ({ text: readTextFile(file), file, source: file });

/** What nobody calls a model: its file is asked for, and told to be missing. */
const FILE = /^[/~.]|\.(?:ya?ml|sh|txt|json|md|service|container|env)$/;

/** Longest text that is read from stdin, in characters. */
const LONGEST = 1024 * 1024;

async function fromStdin(name: string): Promise<string> {
  if (process.stdin.isTTY)
    throw new UnreadableInput(name, "stdin is a terminal; pipe a command or a file into it");
  let text = "";
  for await (const chunk of process.stdin.setEncoding("utf8")) {
    text += chunk;
    if (text.length > LONGEST)
      throw new UnreadableInput(name, "it is too long for a command or a recipe");
  }
  return text;
}

/** Reads a text, and calls it as the command line does where it can't be read. */
export async function calledBy<Read>(
  source: string,
  read: () => Read | Promise<Read>,
): Promise<Read> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof WrongUse && error.message.startsWith(`${COMMAND}:`))
      throw new WrongUse(error.message.replace(COMMAND, () => source));
    if (error instanceof UnreadableInput && error.input === COMMAND)
      throw new UnreadableInput(source, error.reason, error.place);
    throw error;
  }
}
