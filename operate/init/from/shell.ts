import { listOf } from "../../../faults/quoting";
import { type Launch, type Launches, launchesIn } from "../command/launch";
import { asWritten } from "../command/words";
import type { FileRead, PublishedKind } from "./kind";

/** A command, or a script of them: whatever is nothing else. */
export const shellScript: PublishedKind = {
  kind: "a shell script",
  looksLike: () => true,
  servers: ({ text }) => serversOf(launchesIn(text)),
};

/** The servers that commands start, with what is changed of each start. */
export function serversOf(
  { launches, documents }: Launches,
  changed = (launch: Launch): Launch => launch,
): FileRead {
  const isOne = launches.length === 1;
  const heads = launches.filter((launch) => isOne || !isRank(launch));
  const ranks = launches.filter((launch) => !isOne && isRank(launch));
  return {
    servers: heads.map((launch) => ({
      name: isOne ? "its command" : nameOf(launch),
      launch: () => changed(launch),
      ...(launch.isOptional === true ? { isAsked: true } : {}),
    })),
    leftOut: ranks.map((launch) => ({ what: nameOf(launch), why: OF_MORE_MACHINES })),
    documents,
    ...(heads.some((launch) => launch.isOptional) ? { choice: choiceText(heads) } : {}),
  };
}

/** Whether a start is of another machine's part of a model. */
const isRank = ({ words }: Launch): boolean => words.includes("--headless");

const OF_MORE_MACHINES = "it is a part of the model on another machine, and no server.";

const nameOf = ({ words }: Launch): string => {
  const [first = ""] = words;
  const at = words.findIndex((word) => /^--model(?:=|$)/.test(word));
  const model = at < 0 ? first : (words[at]?.split("=")[1] ?? words[at + 1] ?? "");
  return `the start of \`${asWritten(model)}\``;
};

const choiceText = (launches: readonly Launch[]): string =>
  `with ${launches.length} starts of vLLM: ${listOf(launches.map(nameOf))}. Which of them run, its conditions decide (\`if\`, \`case\`, a loop, \`&&\` or \`||\`), and nothing of it is evaluated. Give the command of one, or add \`--all\` to \`serving init\`: each becomes a server with \`start: onRequest\`.`;
