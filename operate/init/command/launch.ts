import { WrongUse } from "../../../commandLine/exit";
import { engineNamed, startsVllmItself } from "../../../components/supply";
import { defined } from "../../../faults/defined";
import { isSecretName } from "../../../faults/secrets";
import { isKnownOption, optionTable } from "../../../vllm/argv/serverArguments";
import { scriptOfShell, serverInvocations } from "../../../vllm/argv/serverInvocations";
import { baseName, isText, type Word } from "../../../vllm/argv/unknown";
import { newestEngineData } from "../../../vllm/engineData";
import type { ServerValue } from "../../models/serverValues";
import { assigned, isAssignment } from "./assignments";
import { RESERVED } from "./blocks";
import {
  type ContainerFacts,
  containerFacts,
  type DockerRun,
  readDockerRun,
} from "./dockerOptions";
import { rendered } from "./recipe";

import {
  asWritten,
  expansions,
  type LeftOut,
  refuseCommand,
  scriptIn,
  unlessRefused,
} from "./words";

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
  /** A condition of its script decides whether it runs. */
  readonly isOptional?: boolean;
  /** Files that may set some of its variables, and that aren't at hand. */
  readonly unread?: readonly string[];
  /** The line of its script. */
  readonly line?: number;
  /** Values that its file says otherwise than by arguments of vLLM. */
  readonly values?: readonly ServerValue[];
}

const CONTAINER_PROGRAMS = new Set(["docker", "podman", "nerdctl"]);
/** Programs that run what stands behind them. */
const WRAPPERS = new Set(["sudo", "exec", "nohup", "env", "time", "command"]);

/** What a script starts, and what else stands in it. */
export interface Launches {
  readonly launches: readonly Launch[];
  readonly documents: readonly string[];
}

/** The servers that a command or a shell script starts. */
export function launchesIn(
  text: string,
  prepared = (words: readonly string[]): readonly string[] => words,
): Launches {
  const exported = new Map<string, string>();
  const { commands, documents } = scriptIn(PLACEHOLDER.test(text) ? rendered(text) : text);
  const cut = commands.find(({ words: [first = ""] }) => first.startsWith("-"));
  if (cut !== undefined)
    refuseCommand(`\`${asWritten(cut.words.join(" "))}\` is no command. ${LINE_GOES_ON}`);
  const launches: Launch[] = [];
  for (const command of commands) {
    if (launches.length >= MOST_STARTS) break;
    const { words: given, own } = withoutFront(command.words, exported);
    const words = prepared(given);
    // Most commands start nothing, and need no variables of their own.
    if (!mayStart(words, exported)) continue;
    const found = launchOf(words, new Map([...exported, ...own]));
    const { isOptional, line } = command;
    const stands = defined({ line, isOptional: isOptional || undefined });
    launches.push(...found.map((each) => ({ ...each, ...stands })));
  }
  return { launches, documents };
}

/** More starts than anybody has in one text. */
const MOST_STARTS = 100;

/** Whether a command starts a server, or is refused by what it starts. */
function mayStart(words: readonly string[], exported: ReadonlyMap<string, string>): boolean {
  const found = unlessRefused(() => launchOf(words, exported));
  return found instanceof WrongUse || found.length > 0;
}

/** What a command cut in two lacks. */
export const LINE_GOES_ON = "A line that goes on ends with a backslash and nothing after it.";

const PLACEHOLDER = /(?:^|\s)\{\w+\}/;

/** Said of a text that is nothing else either. */
export const NO_VLLM =
  "No start of vLLM was found in it. Expected `vllm serve MODEL ...`, `docker run ... IMAGE ...` with an image of vLLM, or a recipe with `command:`.";

/** Said of a command that starts what a compose file describes. */
const NO_COMPOSE =
  "It starts what a compose file describes: give that file (`serving init --from-command compose.yaml`).";

/** A command without assignments and wrappers in front; what is exported goes into `exported`. */
function withoutFront(command: readonly string[], exported: Map<string, string>) {
  if (command[0] === "export")
    for (const [name, value] of command.slice(1).map(assigned)) exported.set(name, value);
  const own = new Map<string, string>();
  let start = 0;
  for (; start < command.length; start++) {
    const word = command[start] ?? "";
    if (isAssignment(word)) own.set(...assigned(word));
    else if (
      !WRAPPERS.has(baseName(word)) &&
      !RESERVED.has(word) &&
      !(start > 0 && word.startsWith("-"))
    )
      break;
  }
  return { words: command.slice(start), own };
}

/** What a simple command starts: one server, or nothing that is of interest here. */
function launchOf(
  words: readonly string[],
  variables: ReadonlyMap<string, string> = new Map(),
): readonly Launch[] {
  const [program = "", ...rest] = words;
  const name = baseName(program);
  if (/^(?:docker|podman)-compose$/.test(name)) refuseCommand(NO_COMPOSE);
  const run = containerRunIn(words);
  if (run !== undefined) return [inContainer(run)];
  if (CONTAINER_PROGRAMS.has(name) && rest.find((word) => VERBS.has(word)) === "compose")
    refuseCommand(NO_COMPOSE);
  const { servers, unreadable } = serverInvocations(words, variables);
  if (unreadable.length > 0) refuseCommand(`It can't be read for certain: ${unreadable[0]}.`);
  if (servers.length > 0)
    return servers.map((each) => ({
      words: known(each, words, { variables, unread: [] }),
      variables,
      leftOut: preparedBy(words),
    }));
  refuseEngine(words.slice(0, 3).join(" "));
  return [];
}

const VERBS: ReadonlySet<string> = new Set(["run", "create", "compose", "exec"]);

/** The `docker run` that a command is, or that the script of a shell (`bash -c '...'`) has. */
function containerRunIn(words: readonly string[]): DockerRun | undefined {
  const run = containerRun(words);
  if (run !== undefined) return run;
  const [inside] = commandsOfShell(words).flatMap((each) => containerRunIn(each) ?? []);
  return inside;
}

/** The commands of the script that a shell is given (`bash -c '...'`); none of any other command. */
function commandsOfShell(words: readonly string[]): readonly (readonly string[])[] {
  const { text } = scriptOfShell(words) ?? {};
  if (!isText(text)) return [];
  return scriptIn(text).commands.map((each) => withoutFront(each.words, new Map()).words);
}

/** What a command runs, in the few words that tell an engine: an image, and a program in it. */
export function programsOf(words: readonly string[]): readonly string[] {
  const run = containerRunIn(words);
  const { commands } = serverInvocations(
    run === undefined ? words : insideOf(run).command,
    new Map(),
  );
  const begun = commands.map((command) => command.filter(isText).slice(0, 3).join(" "));
  return [...(run?.image === undefined ? [] : [run.image]), ...begun];
}

/** Commands of a shell that change nothing a server needs. */
const PLAIN = new Set([
  ...["cd", "export", "set", "echo", "printf", "sleep", "ulimit", "trap", "true", ":", "umask"],
]);

/** What a shell's script runs beside the server that it starts. */
const preparedBy = (words: readonly string[]): LeftOut[] =>
  commandsOfShell(words).flatMap((own) => {
    const { servers, unreadable } = serverInvocations(own, new Map());
    if (own.length === 0 || servers.length + unreadable.length > 0 || PLAIN.has(own[0] ?? ""))
      return [];
    return [{ what: `\`${asWritten(own.slice(0, 5).join(" "))}\``, why: PREPARES }];
  });

const PREPARES =
  "nothing runs before the server here: if it needs this, build an image that has it, and pin that.";

/** What `docker run` or one of its like has behind it; `undefined` for any other command. */
function containerRun([program = "", ...rest]: readonly string[]): DockerRun | undefined {
  if (!CONTAINER_PROGRAMS.has(baseName(program))) return undefined;
  const at = rest.findIndex((word) => VERBS.has(word));
  const verb = rest[at];
  return verb === "run" || verb === "create" ? readDockerRun(rest.slice(at + 1)) : undefined;
}

/** Whether a simple command starts a vLLM; refuses nothing. */
export function startsVllm(words: readonly string[]): boolean {
  const run = containerRunIn(words);
  const command = run === undefined ? words : insideOf(run).command;
  const { servers, unreadable } = serverInvocations(command, new Map());
  if (servers.length + unreadable.length > 0) return true;
  return (
    run !== undefined &&
    startedByImage(run) !== undefined &&
    engineNamed(run.image ?? "") === undefined
  );
}

/** The start of a simple command of which `startsVllm` is true. Refuses what can't be read. */
export function theLaunch(
  words: readonly string[],
  variables?: ReadonlyMap<string, string>,
): Launch {
  const [launch] = launchOf(words, variables);
  return launch ?? refuseCommand(NO_VLLM);
}

/** The command that a container runs. */
function insideOf({ options, rest }: DockerRun) {
  const entrypoint = options.find(({ name }) => name === "entrypoint")?.value ?? "";
  return { entrypoint, command: entrypoint === "" ? rest : [entrypoint, ...rest] };
}

/** What an image of vLLM's starts by itself, or by a script that isn't at hand. */
interface ByImage {
  /** The arguments of its server. */
  readonly words: readonly string[];
  readonly script?: string;
}

/** The server that an image starts by the words behind it; `undefined` where it starts another program. */
function startedByImage(run: DockerRun): ByImage | undefined {
  const { image = "", rest } = run;
  if (!namesVllm(image)) return undefined;
  const { entrypoint, command } = insideOf(run);
  const at = command.slice(0, 2).findIndex((word) => SCRIPT.test(word));
  if (at >= 0) {
    const words = command.slice(at + 1);
    const areOptions = words.some(
      (word) => word.startsWith("--") && isKnownOption(word.slice(2).split("=")[0] ?? ""),
    );
    return areOptions ? { words, script: command[at] ?? "" } : undefined;
  }
  if (entrypoint !== "" || NO_SERVER.test(rest[0] ?? "")) return undefined;
  // An image whose entrypoint is `vllm` gets the command behind it.
  return { words: rest[0] === "serve" ? rest.slice(1) : rest };
}

const SCRIPT = /\.(?:sh|py)$/;

const byScript = (script: string): string =>
  `\`${asWritten(script)}\` starts it, and isn't read here: the words behind it are taken for the arguments of \`vllm serve\`.`;

/** Whether the name of an image, or the words of a command, speak of a vLLM. */
export const namesVllm = (name: string): boolean => /vllm/i.test(name) && !BESIDE_VLLM.test(name);

/** Images of programs that stand in front of a vLLM, or watch it. */
const BESIDE_VLLM = /vllm[\w./-]*(?:router|exporter|proxy|gateway|bench|benchmark|webui)/i;

/** Words of which all are known; what isn't is named by the variables that the command has. */
function known(
  words: readonly Word[],
  command: readonly string[],
  { variables, unread = [] }: Pick<Launch, "variables" | "unread">,
): readonly string[] {
  if (words.every(isText)) return words;
  const written = command.join(" ").match(/\$\{?[A-Za-z_]\w*\}?|\$[@*\d]/g) ?? [];
  const open = written.filter((each) => !variables.has(each.replace(/[${}]/g, "")));
  return refuseCommand(notKnown(open.length === 0 ? ["$(...)"] : open, unread));
}

function notKnown(expansions: Iterable<string>, unread: readonly string[] = []): string {
  const names = [...new Set(expansions)].map((each) => `\`${asWritten(each)}\``).join(", ");
  const files = unread.map(asWritten).join(", ");
  const brought =
    files === "" ? "" : `, or give this text as a file with ${files} beside it, which may set it`;
  return `The value of ${names} is not known here: write it in its place${brought}.`;
}

/** Another engine is refused with where it belongs. */
function refuseEngine(name: string): void {
  const engine = engineNamed(name);
  if (engine !== undefined) refuseCommand(`It starts ${engine.name}, not vLLM. ${engine.belongs}`);
}

/** Says of a command that starts vLLM behind an image which does that itself. */
function startedTwice({ options, image = "", rest }: DockerRun): string[] {
  const starts = startsVllmItself(image);
  if (starts === "no" || options.some(({ name }) => name === "entrypoint")) return [];
  const what = `\`${asWritten(rest.slice(0, 2).join(" "))}\` stands behind the image ${asWritten(image)}`;
  const why =
    starts === "yes"
      ? ", whose entrypoint is `vllm serve` already: vLLM takes it for arguments, so the command fails as it is published."
      : ". The image's entrypoint may say it already, and then the command fails as it is published.";
  return [`${what}${why} It is left out here.`];
}

/** Programs that a container is started with by hand. */
const NO_SERVER = /^(?:ba|da|z)?sh$|^python[\d.]*$|^sleep$/;

/** The server of a `docker run`: by its command, or by an image that starts one itself. */
function inContainer(run: DockerRun): Launch {
  const { options, image = "" } = run;
  const container = containerFacts(options);
  const { command } = insideOf(run);
  const { servers, unreadable } = serverInvocations(command, container.variables);
  if (unreadable.length > 0) refuseCommand(`It can't be read for certain: ${unreadable[0]}.`);
  const unread = options.flatMap(({ name, value = "" }) => (name === "env-file" ? [value] : []));
  const made = { image, container, variables: container.variables, leftOut: [], unread };
  const [server] = servers;
  if (server !== undefined) {
    const words = known(server, command, { variables: container.variables, unread });
    return { ...made, words, leftOut: preparedBy(command), told: startedTwice(run) };
  }
  refuseEngine(image);
  refuseEngine(command.slice(0, 3).join(" "));
  const { words, script } = startedByImage(run) ?? refuseCommand(NO_VLLM);
  return { ...made, words, ...(script === undefined ? {} : { told: [byScript(script)] }) };
}

/**
 * A launch whose words are all known. An option, or further words, of which only a shell or a
 * condition knows the value are left out, and so is a secret; a model of that kind is refused, and
 * so is a placeholder that nobody filled.
 */
export function filled(launch: Launch): Launch {
  const keys = withoutKeys(launch.words);
  const { words, leftOut } = withoutUnknown(keys.words, launch.unread);
  const image = expansions(launch.image ?? "").length === 0 ? launch.image : undefined;
  const unnamed =
    image === launch.image ? [] : [{ what: asWritten(launch.image ?? ""), why: NOT_KNOWN_IMAGE }];
  const open = new Set(
    [image ?? "", ...words].flatMap((word) => word.match(/(?<!["\w:])\{[A-Za-z_]\w*\}/g) ?? []),
  );
  if (open.size > 0)
    refuseCommand(
      `${[...open].map((each) => `\`${each}\``).join(", ")} has no value: give the whole recipe (\`--from-command - < recipe.yaml\`), or write the value in its place.`,
    );
  const { image: _, ...kept } = launch;
  return {
    ...kept,
    words,
    ...(image === undefined ? {} : { image }),
    leftOut: [...launch.leftOut, ...unnamed, ...leftOut, ...keys.leftOut],
  };
}

const NOT_KNOWN_IMAGE = "which image that is isn't known here: the usual one takes its place.";
const NOT_KNOWN_OPTION =
  "its value isn't known here, so the default counts: write it yourself if it matters.";
const NOT_KNOWN_WORDS =
  "what a condition or another program puts there isn't known: write it yourself if it matters.";

/** Words without options, and without further words, whose value only a shell knows. Refuses such a model. */
function withoutUnknown(words: readonly string[], unread?: readonly string[]) {
  const leftOut: LeftOut[] = [];
  const kept: string[] = [];
  for (const word of words) {
    const unknown = expansions(word);
    const flag = kept.at(-1) ?? "";
    if (unknown.length === 0) kept.push(word);
    else if (isModel(word, kept)) refuseCommand(notKnown(unknown, unread));
    else if (/^--?[a-z][\w-]*=/.test(word))
      leftOut.push({ what: word.replace(/=.*$/s, ""), why: NOT_KNOWN_OPTION });
    else if (takesValue(flag)) {
      kept.pop();
      leftOut.push({ what: flag, why: NOT_KNOWN_OPTION });
    } else leftOut.push({ what: unknown.map(asWritten).join(" "), why: NOT_KNOWN_WORDS });
  }
  return { words: kept, leftOut };
}

/** Whether a word is the model: the first one, or the value of the option for it. */
const isModel = (word: string, before: readonly string[]): boolean =>
  /^--model=/.test(word) ||
  before.at(-1) === "--model" ||
  (before.length === 0 && !word.startsWith("-"));

/** Whether an option waits for a value. */
function takesValue(flag: string): boolean {
  const { short, long } = optionTable(newestEngineData());
  const form = flag.startsWith("--")
    ? long.get(flag.slice(2).replaceAll("_", "-"))
    : short.get(flag);
  return form !== undefined && form.takes !== "nothing";
}

/** Words without `--api-key $KEY` and its like. */
function withoutKeys(words: readonly string[]) {
  const leftOut: LeftOut[] = [];
  const kept: string[] = [];
  for (let index = 0; index < words.length; index++) {
    const [word = "", next = ""] = words.slice(index, index + 2);
    const [flag = "", value] = word.split(/=([\s\S]*)/);
    const isSecret = flag.startsWith("--") && isSecretName(flag.slice(2));
    if (isSecret && expansions(value ?? next).length > 0) {
      leftOut.push({ what: flag, why: "a secret has no place in a stack file." });
      index += value === undefined ? 1 : 0;
    } else kept.push(word);
  }
  return { words: kept, leftOut };
}
