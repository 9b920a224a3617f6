import { createInterface } from "node:readline/promises";
import { WrongUse } from "./exit";
import { untilInterrupted } from "./interrupt";
import type { Format } from "./output";

/** Asks at the terminal, on stderr; anything but yes is no. */
export const saysYes = async (question: string, signal: AbortSignal): Promise<boolean> =>
  /^y(es)?$/i.test(await answerTo(`${question} [y/N]`, signal));

/** Whether there is a person to ask: scripts get no question. */
export const canAsk = ({ format }: { readonly format: Format }): boolean =>
  format !== "json" && process.stdin.isTTY === true && process.stderr.isTTY === true;

/** Which of these names somebody means: by its number or itself; `byDefault` if they say nothing. */
export async function oneOf<None extends string | undefined>(
  question: string,
  names: readonly string[],
  signal: AbortSignal,
  byDefault: None,
): Promise<string | None> {
  const rows = names.map((name, index) => `  ${index + 1}  ${name}`).join("\n");
  const which =
    byDefault === undefined ? "Which one?" : `Which one? [${names.indexOf(byDefault) + 1}]`;
  for (let asked = `${question}\n${rows}\n${which}`; ; ) {
    const answer = await answerTo(asked, signal);
    if (answer === "") return byDefault;
    const found = names.find((name, index) => [name, `${index + 1}`].includes(answer));
    const [only = found, ...others] = found === undefined ? withPart(names, answer) : [];
    if (only !== undefined && others.length === 0) return only;
    const may = [only ?? [], others].flat().map((name) => `  ${names.indexOf(name) + 1}  ${name}`);
    asked = [
      may.length === 0 ? `\`${answer}\` is none of these.` : `\`${answer}\` may be:`,
      ...may,
      which,
    ].join("\n");
  }
}

const withPart = (names: readonly string[], part: string): readonly string[] =>
  names.filter((name) => name.toLowerCase().includes(part.toLowerCase()));

/** What somebody answers at the terminal; "" where nobody does. */
async function answerTo(question: string, signal: AbortSignal): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = terminal.question(`${question} `);
    const ended = new Promise<string>((resolve) => terminal.once("close", () => resolve("")));
    // At a terminal that readline has, Ctrl-C is a character and no signal.
    terminal.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
    return ((await untilInterrupted(Promise.race([answer, ended]), signal)) ?? "").trim();
  } finally {
    terminal.close();
  }
}

/** Throws `WrongUse` where nobody can say yes. */
export function expectTerminal(): void {
  if (process.stdin.isTTY !== true)
    throw new WrongUse("Without a terminal nobody can say yes: add --yes.");
}
