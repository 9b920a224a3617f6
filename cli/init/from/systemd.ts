import { defined } from "@local-serving/base/faults/defined";
import type { ServerValue } from "../../models/serverValues";
import { NO_ENV_FILE } from "../command/dockerOptions";
import { programsOf, startsVllm, theLaunch } from "../command/launch";
import type { Launch } from "../command/started";
import { stopGrace, stopGraceValues } from "../command/stopGrace";
import { asWritten, expansions, type LeftOut } from "../command/words";
import { companion, runsInstead } from "./companions";
import { withEnvFiles } from "./envFiles";
import { type FilePart, type PublishedKind, readOf } from "./kind";
import type { Source } from "./source";
import { dotEnv } from "./substitute";
import {
  environmentOf,
  type FoundUnit,
  hasSection,
  type UnitSection,
  unitsIn,
  unitWords,
  withSpecifiers,
} from "./unitFile";
import { AROUND, OF_SERVICE, unreadOf } from "./unitKeys";

export const systemd: PublishedKind = {
  kind: "a systemd unit",
  looksLike: ({ text }) => hasSection(text, "Service"),
  servers(source) {
    const units = unitsIn(source.text);
    const isOnly = units.length === 1;
    const parts = units.map((each) => partOf(each, source, isOnly));
    const found = parts.flatMap(({ part }) => part ?? []);
    return readOf(found, isOnly ? noneText(parts[0]?.words) : "None of its units starts vLLM.");
  },
};

/** What one unit of a text starts, and the words of its command. */
function partOf({ unit, line, called }: FoundUnit, source: Source, isOnly: boolean) {
  const service: UnitSection = unit.sections.get("Service") ?? new Map();
  const { variables, unread } = variablesOf(service, source);
  const commands = (service.get("ExecStart") ?? []).map((command) =>
    withEnvFiles(unitWords(command.replace(/^[-@:+!|]+/, ""), variables), source),
  );
  const words = commands.find(startsVllm);
  const of = called === undefined ? `line ${line}` : `\`${asWritten(called)}\``;
  const name = isOnly ? "its ExecStart" : `the ExecStart of ${of}`;
  if (words === undefined) {
    const [other = []] = commands;
    const part: FilePart = { other: companion(name, ...programsOf(other)) };
    return { words: other, ...(isOnly ? {} : { part }) };
  }
  const leftOut = [
    ...unread.map((file) => notRead(file, words)),
    ...unreadOf(unit, { ...AROUND, Service: OF_SERVICE }),
  ];
  const launch = () => {
    const start = theLaunch(words, variables);
    return {
      ...start,
      ...defined({ from: unit.lineAt("Service", "ExecStart") }),
      unread: [...(start.unread ?? []), ...unread],
      values: [...(start.values ?? []), ...stopGraceOf(service, start)],
      leftOut: [...start.leftOut, ...leftOut],
    };
  };
  const part: FilePart = { server: { name, launch, line, ...defined({ called }) } };
  return { words, part };
}

/** How long the unit's command may take to end; a container's own time counts first. */
function stopGraceOf(service: UnitSection, { container }: Launch): ServerValue[] {
  const seconds = stopGrace(service.get("TimeoutStopSec")?.at(-1) ?? "");
  return container?.stopGraceSeconds === undefined ? stopGraceValues(seconds) : [];
}

/** Why a unit has no server: often its command is a script, which says more. */
function noneText(words: readonly string[] = []): string {
  const [program = ""] = words;
  if (program === "") return "It has no ExecStart.";
  return /\.(?:sh|py)$/.test(program)
    ? `Its ExecStart runs ${asWritten(program)}, which isn't read here: give that script.`
    : `Its ExecStart ${runsInstead(...programsOf(words))} Give the unit that starts \`vllm serve\` or \`docker run\`.`;
}

/** The variables of a service, and the files of which nothing could be read. */
function variablesOf(service: UnitSection, { beside }: Source) {
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
