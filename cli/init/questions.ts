import { createInterface } from "node:readline/promises";
import { WrongUse } from "@local-serving/base/commandLine/exit";
import { terminalWidth, type Width } from "@local-serving/base/commandLine/layout";
import { columns } from "@local-serving/base/commandLine/output";
import { thousands } from "@local-serving/base/units/thousands";
import { modelNamed } from "../../components/catalogue";
import { CLIENTS, type ClientKey } from "../../components/clients";
import { speedCells, UNKNOWN } from "../models/speeds";
import type { Unfit } from "./command/clients";
import type { GpuTaker } from "./counted";
import type { Offer } from "./offers";

/** Puts a question to the person at the terminal; the answer without blanks around it. */
export type Ask = (question: string) => Promise<string>;

/** Runs what asks, at the terminal: questions go to stderr, since stdout is for the result. */
export async function atTerminal<Result>(work: (ask: Ask) => Promise<Result>): Promise<Result> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const ended = new Promise<never>((_, reject) =>
    terminal.once("close", () =>
      reject(new WrongUse("Nothing was written: the questions were not answered.")),
    ),
  );
  ended.catch(() => {});
  let isOpen = true;
  terminal.once("close", () => {
    isOpen = false;
  });
  try {
    return await work(async (question) =>
      // It may have been closed (Ctrl-C, Ctrl-D) before this question.
      (await (isOpen ? Promise.race([terminal.question(`${question} `), ended]) : ended)).trim(),
    );
  } finally {
    terminal.close();
  }
}

/** The model to serve, of those that fit; `undefined` for none. */
export async function askModel(ask: Ask, offered: readonly Offer[]): Promise<Offer | undefined> {
  const sure = offered.filter(({ mayNotStart }) => !mayNotStart);
  const listed = sure.length > 0 ? sure : offered;
  const all = [...listed, ...offered.filter((offer) => !listed.includes(offer))];
  const numbered = (offer: Offer) =>
    listed.includes(offer) ? `${listed.indexOf(offer) + 1}  ${offer.id}` : offer.id;
  const question = [
    sure.length > 0
      ? "Models that fit beside what runs here:"
      : "No model surely fits beside what runs here. These may start:",
    ...offerTable(listed, terminalWidth(process.stderr)),
    ...moreText(all.length - listed.length),
    "  0  none",
    "Which one shall server B serve? [1]",
  ].join("\n");
  const number = await asked(ask, question, "1", (answer) => {
    if (/^\d{1,3}$/.test(answer))
      return Number(answer) <= listed.length ? Number(answer) : undefined;
    if (/^none$/i.test(answer)) return 0;
    const meant = modelNamed(answer, all);
    if (meant.is === "one") return all.indexOf(meant.model) + 1;
    return meant.is === "none" ? undefined : new Unclear(meant.models.map(numbered));
  });
  return all[number - 1];
}

/** What may not start, and can be chosen by its name. */
const moreText = (more: number): string[] =>
  more === 0
    ? []
    : [`     ${more} more may not start: \`serving models\` (choose one by its name)`];

const HEADS = [
  ...["", "model", "tokens/s", "with drafts", "agents", "download"],
  ...["window", "share", "hub id"],
];

/** How many columns are left where the terminal is too narrow for more. */
const FEWER = [HEADS.length, HEADS.length - 1, HEADS.length - 3] as const;

function offerTable(offered: readonly Offer[], width: Width): string[] {
  const rows = offered.map(
    ({ id, servedModelName, share, window, agents, speed, ...offer }, index) => [
      String(index + 1),
      servedModelName,
      ...speedCells(speed),
      agents === undefined ? UNKNOWN : String(agents),
      downloadText(offer),
      window === undefined ? UNKNOWN : thousands(window),
      String(share),
      id,
    ],
  );
  const tables = FEWER.map((count) =>
    columns([HEADS, ...rows].map((row) => row.slice(0, count))).map((row) => `  ${row}`),
  );
  const fitting = tables.find((table) => table.every(({ length }) => length <= width));
  return fitting ?? tables.at(-1) ?? [];
}

const downloadText = ({ cached, weightsGB }: Pick<Offer, "cached" | "weightsGB">): string => {
  if (cached) return "none";
  return weightsGB === undefined ? UNKNOWN : `${weightsGB} GB`;
};

const yesOrNo = (answer: string): boolean | undefined =>
  /^(y|yes|n|no)$/i.test(answer) ? /^y/i.test(answer) : undefined;

/** Whether what holds GPU memory is to be counted. */
export const askTaker = (ask: Ask, { name, gib }: GpuTaker): Promise<boolean> =>
  asked(
    ask,
    `${name} holds ${gib} GiB of GPU memory. Shall the plan count it? [Y/n]`,
    "y",
    yesOrNo,
  );

/** What the operating system takes, where more is in use than one needs; empty: not known. */
export async function askSystem(ask: Ask, gib: number): Promise<number | undefined> {
  const question = `${gib} GiB of memory in use are unexplained. How many of them does the operating system always take (GiB)? [not known]`;
  const answer = await asked(ask, question, "not known", (given) =>
    given === "not known" || (/^\d+(\.\d+)?$/.test(given) && Number(given) > 0) ? given : undefined,
  );
  return answer === "not known" ? undefined : Number(answer);
}

/** Variables with the chat UI's first account; `undefined` for the first who signs up. */
export async function askAdministrator(ask: Ask) {
  const question =
    "Which variables of your shell hold the chat UI administrator's email and password? (names; `none`: the first who signs up) [LOCAL_SERVING_CHAT_EMAIL LOCAL_SERVING_CHAT_PASSWORD]";
  const usual = "LOCAL_SERVING_CHAT_EMAIL LOCAL_SERVING_CHAT_PASSWORD";
  const names = await asked(ask, question, usual, (answer) => {
    if (answer === "none") return [];
    const named = answer.split(/[\s,]+/);
    const good = named.every((name) => /^[A-Z_][A-Z0-9_]*$/.test(name));
    return named.length === 2 && good ? named : undefined;
  });
  const [emailVariable, passwordVariable] = names;
  return emailVariable === undefined || passwordVariable === undefined
    ? undefined
    : { emailVariable, passwordVariable };
}

/** How other computers are to reach the machine; `undefined` where they are not. */
export async function askNetwork(ask: Ask, byDefault: string): Promise<string | undefined> {
  const question = "Shall other computers on the local network use it, with a key? [y/N]";
  const yes = await asked(ask, question, "n", yesOrNo);
  if (!yes) return undefined;
  return asked(ask, `By which name do they reach it? [${byDefault}]`, byDefault, (answer) =>
    /^[a-zA-Z0-9.-]+$/.test(answer) ? answer : undefined,
  );
}

/** The clients to set up, of those that can use the server. */
export function askClients(
  ask: Ask,
  byDefault: readonly ClientKey[],
  unfit: Unfit = { keys: [], why: "" },
): Promise<ClientKey[]> {
  const all = CLIENTS.map(({ key }) => key);
  const keys = all.filter((key) => !unfit.keys.includes(key));
  const others =
    unfit.keys.length === 0
      ? ""
      : `${unfit.keys.join(", ")}: each ${unfit.why}, so it gets no file.\n`;
  const question = `${others}Which clients get files (${keys.join(", ")})? [${byDefault.join(" ")}]`;
  return asked(ask, question, byDefault.join(" "), (answer) => {
    const named = answer.split(/[\s,]+/);
    const known = all.filter((key) =>
      named.some((name) => name.toLowerCase() === key.toLowerCase()),
    );
    if (known.length < new Set(named).size) return undefined;
    const none = known.find((key) => unfit.keys.includes(key));
    return none === undefined ? known : new Refused(`${none} ${unfit.why}.`);
  });
}

/** An answer that may mean several, a line each. */
class Unclear {
  constructor(readonly rows: readonly string[]) {}
}

/** An answer that can't be had, and why. */
class Refused {
  constructor(readonly why: string) {}
}

/** Asks until an answer can be used; an empty one is the default. */
async function asked<Answer>(
  ask: Ask,
  question: string,
  byDefault: string,
  read: (answer: string) => Answer | Unclear | Refused | undefined,
): Promise<Answer> {
  const [last] = question.split("\n").slice(-1);
  for (let shown = question; ; ) {
    const given = (await ask(shown)) || byDefault;
    const answer = read(given);
    if (answer instanceof Unclear)
      shown = [`\`${given}\` may be:`, ...answer.rows.map((row) => `  ${row}`), last].join("\n");
    else if (answer instanceof Refused) shown = `${answer.why} ${last}`;
    else if (answer !== undefined) return answer;
    else shown = `\`${given}\` is no answer to this. ${last}`;
  }
}
