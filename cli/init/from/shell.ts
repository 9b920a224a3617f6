import { listOf } from "@local-serving/base/faults/quoting";
import { type Launches, launchesIn } from "../command/launch";
import type { Launch } from "../command/started";
import { asWritten } from "../command/words";
import { withEnvFiles } from "./envFiles";
import type { FileRead, PublishedKind } from "./kind";
import { type Source, withWritten } from "./source";

/** A command, or a script of them: whatever is nothing else. */
export const shellScript: PublishedKind = {
  kind: "a shell script",
  looksLike: () => true,
  servers(source) {
    const launches = launchesIn(
      source.text,
      (words, documents) => withEnvFiles(words, withWritten(source, documents)),
      source.beside,
    );
    return serversOf(launches, (launch) => launch, source.place);
  },
};

/** The servers that commands start, with what is changed of each; `place` names a line of their script. */
export function serversOf(
  { launches, documents, leftOut }: Launches,
  changed: (launch: Launch) => Launch,
  place?: Source["place"],
): FileRead {
  const isOne = launches.length === 1;
  const servers = launches.filter((launch) => isOne || !isHeadless(launch));
  const parts = launches.filter((launch) => !isOne && isHeadless(launch));
  return {
    servers: servers.map((launch) => ({
      name: isOne ? "its command" : nameOf(launch),
      launch: () => changed(inItsBranch(launch, place)),
      ...(launch.isOptional === true ? { isAsked: true } : {}),
    })),
    leftOut: [
      ...parts.map((launch) => ({ what: nameOf(launch), why: OF_MORE_MACHINES })),
      ...leftOut,
    ],
    documents,
    ...(servers.some((launch) => launch.isOptional) ? { choice: choiceText(servers, place) } : {}),
  };
}

/** Whether a start is of another machine's part of a model. */
const isHeadless = ({ words }: Launch): boolean =>
  words.some(
    (word, at) =>
      word === "--headless" ||
      (/^--node[-_]rank(?:=|$)/.test(word) && Number(word.split("=")[1] ?? words[at + 1]) > 0),
  );

const OF_MORE_MACHINES = "it is a part of the model on another machine, and no server.";

const nameOf = ({ words }: Launch): string => {
  const [first = ""] = words;
  const at = words.findIndex((word) => /^--model(?:=|$)/.test(word));
  const model = at < 0 ? first : (words[at]?.split("=")[1] ?? words[at + 1] ?? "");
  return `the start of \`${asWritten(model)}\``;
};

/** Where a start stands, as it is told behind its name. */
const placeOf = ({ line }: Launch, place?: Source["place"]): string =>
  line === undefined || place === undefined ? "" : ` (${place(line)})`;

/** A start with what is told of the condition that decides whether it runs. */
const inItsBranch = (launch: Launch, place?: Source["place"]): Launch =>
  launch.isOptional === true
    ? {
        ...launch,
        told: [
          ...(launch.told ?? []),
          `The script starts it only under a condition${placeOf(launch, place)}, which isn't judged here (\`if\`, \`case\`, a loop, \`&&\` or \`||\`).`,
        ],
      }
    : launch;

const choiceText = (launches: readonly Launch[], place?: Source["place"]): string =>
  `with ${launches.length} starts of vLLM: ${listOf(launches.map((each) => `${nameOf(each)}${placeOf(each, place)}`))}. Which of them run, its conditions decide (\`if\`, \`case\`, a loop, \`&&\` or \`||\`), and nothing of it is evaluated. Give the command of one, or add \`--all\` to \`serving init\`: each becomes a server with \`start: onRequest\`.`;
