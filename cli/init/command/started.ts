import { scriptOfShell, serverInvocations } from "@local-serving/vllm/argv/serverInvocations";
import { isText, type Word } from "@local-serving/vllm/argv/unknown";
import { engineNamed } from "../../../components/supply";
import type { ServerValue } from "../../models/serverValues";
import type { ContainerFacts } from "./dockerOptions";
import { DEEPEST, type Fronted, withoutFront } from "./front";
import type { LineOf } from "./lines";
import { isToFill } from "./placeholder";
import { asWritten, type LeftOut, refuseCommand, scriptIn } from "./words";

/** How a command starts one vLLM server. */
export interface Launch {
  /** Words behind `vllm serve`. */
  readonly words: readonly string[];
  /** The server's environment. A value may have a shell's variable in it. */
  readonly variables: ReadonlyMap<string, string>;
  readonly image?: string;
  /** The container, where the command makes it itself. */
  readonly container?: ContainerFacts;
  /** What its file says beside the command. */
  readonly leftOut: readonly LeftOut[];
  /** What a person is told of its file, a sentence each. */
  readonly told?: readonly string[];
  /** What a refusal of what isn't known adds, a sentence each. */
  readonly hint?: readonly string[];
  /** Where the value of a variable that isn't known comes from, a clause. */
  readonly origins?: ReadonlyMap<string, string>;
  /** A condition of its script decides whether it runs. */
  readonly isOptional?: boolean;
  /** Files that may set some of its variables, and that aren't at hand. */
  readonly unread?: readonly string[];
  /** The line of the text that it begins in. */
  readonly line?: number;
  /** The line of its container, where an earlier command starts that. */
  readonly from?: number;
  /** Tells where a word stands in the text. */
  readonly lineOf?: LineOf;
  /** Values that its file says otherwise than by arguments of vLLM. */
  readonly values?: readonly ServerValue[];
}

/** The variables that a command has: of a shell's own, only what runs with that shell. */
export const variablesOf = (
  { own, isElsewhere }: Fronted,
  given: ReadonlyMap<string, string> = new Map(),
): ReadonlyMap<string, string> => (isElsewhere ? own : new Map([...given, ...own]));

/** The arguments and variables of a server. */
type Started = Pick<Launch, "words" | "variables">;

/** The servers that a command starts, each with what its own shell sets. */
export function serversOf(
  words: readonly string[],
  variables: ReadonlyMap<string, string>,
  unread: readonly string[] = [],
): readonly Started[] {
  const { servers, unreadable } = serverInvocations(words, variables);
  if (unreadable.length > 0) refuseCommand(`It can't be read for certain: ${unreadable[0]}.`);
  if (servers.length === 0) return [];
  const inside = startedInside(words, variables);
  // Both readers see the same servers, unless a substitution starts one.
  const areSame = inside.length === servers.length;
  return servers.map((server, index) => {
    const started = areSame ? inside[index] : undefined;
    const own = started === undefined ? inside.flatMap((each) => [...each.variables]) : [];
    return {
      words: server.every(isText)
        ? server
        : (started?.words ?? known(server, words, { variables, unread })),
      variables: new Map([...variables, ...own, ...(started?.variables ?? [])]),
    };
  });
}

/** The servers of a command with the variables that stand in front of each, or in its shell's script. */
function startedInside(
  words: readonly string[],
  given: ReadonlyMap<string, string>,
  depth = 0,
): readonly Started[] {
  const { words: plain, own } = withoutFront(words);
  const variables = new Map([...given, ...own]);
  const { text, parameters = [] } = scriptOfShell(plain) ?? {};
  if (!isText(text) || depth === DEEPEST) {
    const { servers } = serverInvocations(plain, variables);
    return servers.map((server) => ({ words: server.filter(isText), variables: own }));
  }
  const exported = new Map(own);
  return scriptIn(text, { variables, parameters }).commands.flatMap((command) => {
    const front = withoutFront(command.words, exported);
    return startedInside(front.words, variables, depth + 1).map((each) => ({
      words: each.words,
      variables: new Map([...variablesOf(front, exported), ...each.variables]),
    }));
  });
}

/** Words of which all are known; what isn't is named by the variables that the command has. */
function known(
  words: readonly Word[],
  command: readonly string[],
  { variables, unread = [] }: Pick<Launch, "variables" | "unread">,
): readonly string[] {
  if (words.every(isText)) return words;
  const written = [...command.join(" ").matchAll(/\$\{?([A-Za-z_]\w*|[@*\d])/g)];
  const open = written.flatMap(([, name = ""]) => (variables.has(name) ? [] : [`$${name}`]));
  return refuseCommand(notKnown(open.length === 0 ? ["$(...)"] : open, unread));
}

/** What a script or one of its functions is called with. */
const GIVEN = /^\$(?:\d|\{\d+\})$/;
const CALLED =
  "the script, or a function of it, is called with it. Give each call as a command, or ";

export function notKnown(
  expansions: Iterable<string>,
  unread: readonly string[] = [],
  line?: number,
): string {
  const all = [...new Set(expansions)];
  const names = all.map((each) => `\`${asWritten(each)}\``).join(", ");
  if (all.every(isToFill))
    return `${names}${line === undefined ? "" : ` (line ${line})`} ${all.length > 1 ? "are placeholders" : "is a placeholder"}: write the model's hub id, or its folder on the machine, in its place.`;
  const files = unread.map(asWritten).join(", ");
  const brought =
    files === "" ? "" : `, or give this text as a file with ${files} beside it, which may set it`;
  const called = all.every((each) => GIVEN.test(asWritten(each))) ? CALLED : "";
  return `The value of ${names} is not known here: ${called}write it in its place${brought}.`;
}

/** Another engine is refused with where it belongs. */
export function refuseEngine(name: string): void {
  const engine = engineNamed(name);
  if (engine !== undefined) refuseCommand(`It starts ${engine.name}, not vLLM. ${engine.belongs}`);
}

/** The commands of the script that a shell is given (`bash -c '...'`); none of any other command. */
export function commandsOfShell(words: readonly string[]): readonly (readonly string[])[] {
  const { text } = scriptOfShell(words) ?? {};
  if (!isText(text)) return [];
  return scriptIn(text).commands.map((each) => withoutFront(each.words).words);
}

/** Commands of a shell that change nothing a server needs. */
const PLAIN = new Set([
  "cd",
  "export",
  "set",
  "echo",
  "printf",
  "sleep",
  "ulimit",
  "trap",
  "true",
  ":",
  "umask",
]);

/** What a shell's script runs before the server that it starts. */
export function preparedBy(words: readonly string[]): LeftOut[] {
  const commands = commandsOfShell(words);
  const start = commands.findIndex((each) => {
    const { servers, unreadable } = serverInvocations(each, new Map());
    return servers.length + unreadable.length > 0;
  });
  return commands
    .slice(0, Math.max(0, start))
    .filter((each) => each.length > 0 && !PLAIN.has(each[0] ?? ""))
    .map(preparation);
}

const PREPARES =
  "nothing runs before the server here: if it needs this, build an image that has it, and pin that.";

export const preparation = (words: readonly string[]): LeftOut => ({
  what: `\`${asWritten(words.slice(0, 5).join(" "))}\``,
  why: PREPARES,
});
