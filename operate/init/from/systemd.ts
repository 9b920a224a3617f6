import { NO_ENV_FILE } from "../command/dockerOptions";
import { programsOf, startsVllm, theLaunch } from "../command/launch";
import { asWritten, expansions, type LeftOut } from "../command/words";
import { runsInstead } from "./companions";
import { withEnvFiles } from "./envFiles";
import { type PublishedKind, withoutPlace } from "./kind";
import type { Source } from "./source";
import { dotEnv } from "./substitute";
import { environmentOf, hasSection, unitFile, unitWords, withSpecifiers } from "./unitFile";

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
      withEnvFiles(unitWords(line.replace(/^[-@:+!|]+/, ""), variables), source),
    );
    const words = commands.find(startsVllm);
    if (words === undefined) return { servers: [], none: noneText(commands[0]) };
    const launch = () => {
      const start = theLaunch(words, variables);
      return { ...start, unread: [...(start.unread ?? []), ...unread] };
    };
    return {
      servers: [{ name: "its ExecStart", launch }],
      leftOut: [...unread.map((file) => notRead(file, words)), ...leftOutOf(service)],
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
  const unread: string[] = [];
  for (const file of service.get("EnvironmentFile") ?? []) {
    const name = withSpecifiers(file.replace(/^-/, ""));
    const text = beside(name);
    if (text === undefined) unread.push(name);
    for (const [name, value] of dotEnv(text ?? "")) variables.set(name, value);
  }
  return { variables, unread };
}

/** Says of a file of variables that isn't at hand which of a command's stay unknown. */
function notRead(file: string, words: readonly string[]): LeftOut {
  const unknown = new Set(words.flatMap(expansions).filter((each) => each.startsWith("$")));
  const open =
    unknown.size === 0
      ? ""
      : ` It may set ${[...unknown].map((each) => `\`${each}\``).join(", ")}, which nobody else here does.`;
  return { what: `EnvironmentFile=${asWritten(file)}`, why: `${NO_ENV_FILE}${open}` };
}

const leftOutOf = (service: Section): LeftOut[] =>
  withoutPlace(
    WHY,
    (key) => service.has(key),
    (key) => key,
  );
