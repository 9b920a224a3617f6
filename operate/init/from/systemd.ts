import { programsOf, startsVllm, theLaunch } from "../command/launch";
import { asWritten, type LeftOut } from "../command/words";
import { runsInstead } from "./companions";
import { type PublishedKind, withoutPlace } from "./kind";
import type { Source } from "./source";
import { dotEnv } from "./substitute";
import { environmentOf, hasSection, unitFile, unitWords } from "./unitFile";

/** Why a key of the service has no place in a stack file. */
const WHY: Readonly<Record<string, string>> = {
  ExecStartPre:
    "nothing runs before the server but its start gate: `serving fetch` brings the image.",
  ExecStartPost: "no other command runs once it has started.",
  ExecStop: "`serving stop` stops it.",
  User: "vLLM runs as the image's own user.",
  WorkingDirectory: "a server's container has folders of its own.",
};

type Section = ReadonlyMap<string, readonly string[]>;

export const systemd: PublishedKind = {
  kind: "a systemd unit",
  looksLike: ({ text }) => hasSection(text, "Service"),
  servers(source) {
    const service: Section = unitFile(source.text).get("Service") ?? new Map();
    const { variables, unread } = variablesOf(service, source);
    const commands = (service.get("ExecStart") ?? []).map((line) =>
      unitWords(line.replace(/^[-@:+!|]+/, ""), variables),
    );
    const words = commands.find(startsVllm);
    if (words === undefined) return { servers: [], none: noneText(commands[0]) };
    return {
      servers: [{ name: "its ExecStart", launch: () => theLaunch(words, variables) }],
      leftOut: [...unread, ...leftOutOf(service)],
    };
  },
};

/** Why a unit has no server: often its command is a script, which says more. */
function noneText(words: readonly string[] = []): string {
  const [program = ""] = words;
  if (program === "") return "It has no ExecStart.";
  return /\.(?:sh|py)$/.test(program)
    ? `Its ExecStart runs ${asWritten(program)}, which isn't read here: give that script.`
    : `Its ExecStart ${runsInstead(...programsOf(words))} Give the unit that starts \`vllm serve\` or \`docker run\`.`;
}

/** The variables of a service, and the files of which nothing could be read. */
function variablesOf(service: Section, { beside }: Source) {
  const variables = new Map(environmentOf(service.get("Environment") ?? []));
  const unread: LeftOut[] = [];
  for (const file of service.get("EnvironmentFile") ?? []) {
    const text = beside(file.replace(/^-/, ""));
    if (text === undefined)
      unread.push({ what: `EnvironmentFile=${asWritten(file)}`, why: NOT_READ });
    for (const [name, value] of dotEnv(text ?? "")) variables.set(name, value);
  }
  return { variables, unread };
}

const NOT_READ = "the file isn't read: write its variables as `environment`, without secrets.";

const leftOutOf = (service: Section): LeftOut[] =>
  withoutPlace(
    WHY,
    (key) => service.has(key),
    (key) => key,
  );
