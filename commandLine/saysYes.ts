import { createInterface } from "node:readline/promises";
import { WrongUse } from "./exit";
import { untilInterrupted } from "./interrupt";

/** Asks at the terminal, on stderr; anything but yes is no. */
export async function saysYes(question: string, signal: AbortSignal): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = terminal.question(`${question} [y/N] `);
    const ended = new Promise<string>((resolve) => terminal.once("close", () => resolve("")));
    // At a terminal that readline has, Ctrl-C is a character and no signal.
    terminal.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
    return /^y(es)?$/i.test((await untilInterrupted(Promise.race([answer, ended]), signal)) ?? "");
  } finally {
    terminal.close();
  }
}

/** Throws `WrongUse` where nobody can say yes. */
export function expectTerminal(): void {
  if (process.stdin.isTTY !== true)
    throw new WrongUse("Without a terminal nobody can say yes: add --yes.");
}
