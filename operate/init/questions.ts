import { createInterface } from "node:readline/promises";
import { WrongUse } from "../../commandLine/exit";
import { CLIENTS, type ClientKey } from "../../components/clients";
import type { Offer } from "./offers";

/** Puts a question to the person at the terminal; the answer without blanks around it. */
export type Ask = (question: string) => Promise<string>;

/** Runs what asks, at the terminal: questions go to stderr, since stdout is for the result. */
export async function atTerminal<Result>(work: (ask: Ask) => Promise<Result>): Promise<Result> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const ended = new Promise<never>((_, reject) =>
    terminal.once("close", () =>
      reject(new WrongUse("Nothing was written: the questions have no answer.")),
    ),
  );
  ended.catch(() => {});
  try {
    return await work(async (question) =>
      (await Promise.race([terminal.question(`${question} `), ended])).trim(),
    );
  } finally {
    terminal.close();
  }
}

/** The model to serve, of those that fit; `undefined` for none. */
export async function askModel(ask: Ask, offered: readonly Offer[]): Promise<Offer | undefined> {
  const rows = offered.map(
    ({ id, share, cached, weightsGB }, index) =>
      `  ${index + 1}  ${id} (share ${share}, ${cached ? "in the cache" : `${weightsGB ?? "unknown"} GB to load`})`,
  );
  const question = `Models that fit beside what runs here:\n${rows.join("\n")}\n  0  none\nWhich one shall server B serve? [1]`;
  const number = await asked(ask, question, "1", (answer) =>
    /^\d{1,3}$/.test(answer) && Number(answer) <= offered.length ? Number(answer) : undefined,
  );
  return offered[number - 1];
}

/** How other computers are to reach the machine; `undefined` where they are not. */
export async function askNetwork(ask: Ask, byDefault: string): Promise<string | undefined> {
  const question = "Shall other computers on the local network use it, with a key? [y/N]";
  const yes = await asked(ask, question, "n", (answer) =>
    /^(y|yes|n|no)$/i.test(answer) ? /^y/i.test(answer) : undefined,
  );
  if (!yes) return undefined;
  return asked(ask, `By which name do they reach it? [${byDefault}]`, byDefault, (answer) =>
    /^[a-zA-Z0-9.-]+$/.test(answer) ? answer : undefined,
  );
}

/** The coding clients to set up. */
export function askClients(ask: Ask, byDefault: readonly ClientKey[]): Promise<ClientKey[]> {
  const keys = CLIENTS.map(({ key }) => key);
  const question = `Which clients get files (${keys.join(", ")})? [${byDefault.join(" ")}]`;
  return asked(ask, question, byDefault.join(" "), (answer) => {
    const named = answer.split(/[\s,]+/);
    const known = keys.filter((key) =>
      named.some((name) => name.toLowerCase() === key.toLowerCase()),
    );
    return known.length === new Set(named).size ? known : undefined;
  });
}

/** Asks until an answer can be used; an empty one is the default. */
async function asked<Answer>(
  ask: Ask,
  question: string,
  byDefault: string,
  read: (answer: string) => Answer | undefined,
): Promise<Answer> {
  for (let shown = question; ; ) {
    const given = (await ask(shown)) || byDefault;
    const answer = read(given);
    if (answer !== undefined) return answer;
    shown = `\`${given}\` is no answer to this. ${question.slice(question.lastIndexOf("\n") + 1)}`;
  }
}
