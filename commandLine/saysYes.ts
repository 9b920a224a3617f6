import { createInterface } from "node:readline/promises";
import { WrongUse } from "./exit";
import { untilInterrupted } from "./interrupt";

/** Asks at the terminal, on stderr; anything but yes is no. */
export const saysYes = async (question: string, signal: AbortSignal): Promise<boolean> =>
  /^y(es)?$/i.test(await answerTo(`${question} [y/N]`, signal));

/** Which of these names somebody means: by its number or itself; the first if they say nothing. */
export async function oneOf(
  question: string,
  names: readonly [string, ...string[]],
  signal: AbortSignal,
): Promise<string> {
  const rows = names.map((name, index) => `  ${index + 1}  ${name}`).join("\n");
  for (let asked = `${question}\n${rows}\nWhich one? [1]`; ; asked = "Which one? [1]") {
    const answer = await answerTo(asked, signal);
    if (answer === "") return names[0];
    const found = names.find((name, index) => [name, `${index + 1}`].includes(answer));
    if (found !== undefined) return found;
  }
}

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
