import { defined } from "../../../faults/defined";
import { NO_ENV_FILE } from "../command/dockerOptions";
import { programsOf, startsVllm, theLaunch } from "../command/launch";
import { asWritten, expansions, type LeftOut } from "../command/words";
import { runsInstead } from "./companions";
import { withEnvFiles } from "./envFiles";
import type { PublishedKind } from "./kind";
import type { Source } from "./source";
import { dotEnv } from "./substitute";
import {
  environmentOf,
  hasSection,
  type Section,
  unitFile,
  unitWords,
  withSpecifiers,
} from "./unitFile";
import { AROUND, OF_SERVICE, unreadOf } from "./unitKeys";

export const systemd: PublishedKind = {
  kind: "a systemd unit",
  looksLike: ({ text }) => hasSection(text, "Service"),
  servers(source) {
    const unit = unitFile(source.text);
    const service: Section = unit.sections.get("Service") ?? new Map();
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
      servers: [
        {
          name: "its ExecStart",
          launch,
          ...defined({ line: unit.lineAt("Service", "ExecStart") }),
        },
      ],
      leftOut: [
        ...unread.map((file) => notRead(file, words)),
        ...unreadOf(unit, { ...AROUND, Service: OF_SERVICE }),
      ],
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
  const what = `EnvironmentFile=${asWritten(file)}`;
  return { what, why: `${NO_ENV_FILE}${open}`, words: [what] };
}
