import { WrongUse } from "../../../commandLine/exit";
import { engineNamed, startsVllmItself } from "../../../components/supply";
import { defined } from "../../../faults/defined";
import { isSecretName } from "../../../faults/secrets";
import { imageReference } from "../../../machines/docker/imageReference";
import { isKnownOption } from "../../../vllm/argv/serverArguments";
import { isPython, scriptOfShell, serverInvocations } from "../../../vllm/argv/serverInvocations";
import { baseName, isText, type Word } from "../../../vllm/argv/unknown";
import type { ServerValue } from "../../models/serverValues";
import { apart, takesValue } from "./apart";
import {
  type ContainerFacts,
  containerFacts,
  type DockerRun,
  readDockerRun,
} from "./dockerOptions";
import { containerVerb, DEEPEST, type Fronted, withoutFront } from "./front";
import { rendered } from "./recipe";

import {
  asWritten,
  expansions,
  type LeftOut,
  OPEN,
  refuseCommand,
  type ScriptCommand,
  scriptIn,
  standIn,
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
  /** What a refusal of what isn't known adds, a sentence each. */
  readonly hint?: readonly string[];
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
  const before: LeftOut[] = [];
  for (const command of commands) {
    if (launches.length >= MOST_STARTS) break;
    const front = withoutFront(command.words, exported);
    const words = prepared(front.words);
    // Most commands start nothing, and need no variables of their own.
    const seen = unlessRefused(() => launchOf(words, exported));
    if (!(seen instanceof WrongUse) && seen.length === 0) {
      if (prepares(words)) before.push(preparation(words));
      continue;
    }
    const isSeen = !(seen instanceof WrongUse) && front.own.size === 0 && !front.isElsewhere;
    const found = isSeen ? seen : launchOf(words, variablesOf(front, exported));
    const all = found.map((each) => sentTo(front, each)).map(asIn(command));
    launches.push(...(front.isElsewhere ? all : all.map(preparedIn(before))));
  }
  return { launches, documents };
}

/** A start with what its script does to the programs of the machine first: a container has its own. */
const preparedIn = (before: readonly LeftOut[]) => (launch: Launch) =>
  launch.container === undefined && before.length > 0
    ? { ...launch, leftOut: [...launch.leftOut, ...before.slice(0, MOST_PREPARATIONS)] }
    : launch;

const MOST_PREPARATIONS = 20;

/** Whether a command changes what the next ones run: it installs, patches or runs a file of Python's. */
function prepares([program = "", ...rest]: readonly string[]): boolean {
  const name = baseName(program);
  if (isPython(program)) return rest.some((word) => /\.py$/.test(asWritten(word)));
  return name === "patch" || (INSTALLERS.has(name) && rest.slice(0, 2).includes("install"));
}

const INSTALLERS = new Set(["pip", "pip3", "uv", "conda", "mamba"]);

const preparation = (words: readonly string[]): LeftOut => ({
  what: `\`${asWritten(words.slice(0, 5).join(" "))}\``,
  why: PREPARES,
});

/** A start with its place in the script. */
const asIn =
  ({ isOptional, line }: ScriptCommand) =>
  (launch: Launch): Launch => ({
    ...launch,
    ...defined({ line, isOptional: isOptional || undefined }),
  });

/** The variables that a command has: of a shell's own, only what runs with that shell. */
const variablesOf = (
  { own, isElsewhere }: Fronted,
  given: ReadonlyMap<string, string> = new Map(),
): ReadonlyMap<string, string> => (isElsewhere ? own : new Map([...given, ...own]));

/** Says of a start on another machine how a stack file is made for that one. */
function sentTo({ host }: Fronted, launch: Launch): Launch {
  if (host === undefined) return launch;
  const to = asWritten(host);
  const text = `The command starts it on ${to} by ssh: with \`--on ssh://${to}\`, \`serving init\` looks at that machine.`;
  return { ...launch, told: [...(launch.told ?? []), text] };
}

/** More starts than anybody has in one text. */
const MOST_STARTS = 100;

/** What a command cut in two lacks. */
export const LINE_GOES_ON = "A line that goes on ends with a backslash and nothing after it.";

const PLACEHOLDER = /(?:^|\s)\{\w+\}/;

/** Said of a text that is nothing else either. */
export const NO_VLLM =
  "No start of vLLM was found in it. Expected `vllm serve MODEL ...`, `docker run ... IMAGE ...` with an image of vLLM, or a recipe with `command:`.";

/** Said of a command that starts what a compose file describes. */
const NO_COMPOSE =
  "It starts what a compose file describes: give that file (`serving init --from-command compose.yaml`).";

/** What a simple command starts: one server, or nothing that is of interest here. */
function launchOf(
  words: readonly string[],
  variables: ReadonlyMap<string, string> = new Map(),
): readonly Launch[] {
  const [program = "", ...rest] = words;
  const name = baseName(program);
  if (/^(?:docker|podman)-compose$/.test(name)) refuseCommand(NO_COMPOSE);
  const run = containerRunIn(words);
  if (run !== undefined) return inContainer(run);
  if (CONTAINER_PROGRAMS.has(name) && containerVerb(rest)[0] === "compose")
    refuseCommand(NO_COMPOSE);
  const servers = serversOf(words, variables);
  if (servers.length === 0) refuseEngine(RUNNERS.test(name) ? words.slice(0, 3).join(" ") : name);
  return servers.map((each) => ({ ...each, leftOut: preparedBy(words) }));
}

/** Programs that run what the next words name; behind any other, a name is only spoken of. */
const RUNNERS =
  /^(?:python[\d.]*|uvx?|docker|podman|numactl|taskset|timeout|nice|setsid|srun|systemd-run)$/;

/** The arguments and variables of a server. */
type Started = Pick<Launch, "words" | "variables">;

/** The servers that a command starts, each with what its own shell sets. */
function serversOf(
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

/** The `docker run` that a command is, or that the script of a shell (`bash -c '...'`) has. */
function containerRunIn(command: readonly string[], depth = 0): DockerRun | undefined {
  const { words } = withoutFront(command);
  const run = containerRun(words);
  if (run !== undefined || depth === DEEPEST) return run;
  const [inside] = commandsOfShell(words).flatMap((each) => containerRunIn(each, depth + 1) ?? []);
  return inside;
}

/** The commands of the script that a shell is given (`bash -c '...'`); none of any other command. */
function commandsOfShell(words: readonly string[]): readonly (readonly string[])[] {
  const { text } = scriptOfShell(words) ?? {};
  if (!isText(text)) return [];
  return scriptIn(text).commands.map((each) => withoutFront(each.words).words);
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
function preparedBy(words: readonly string[]): LeftOut[] {
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

/** What `docker run` or one of its like has behind it; `undefined` for any other command. */
function containerRun([program = "", ...rest]: readonly string[]): DockerRun | undefined {
  if (!CONTAINER_PROGRAMS.has(baseName(program))) return undefined;
  const [verb, ...behind] = containerVerb(rest);
  return verb === "run" || verb === "create" ? readDockerRun(behind) : undefined;
}

/** Whether a simple command starts a vLLM; refuses nothing. */
export function startsVllm(words: readonly string[]): boolean {
  const run = containerRunIn(words);
  const command = run === undefined ? withoutFront(words).words : insideOf(run).command;
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
  const front = withoutFront(words);
  const [launch] = launchOf(front.words, variablesOf(front, variables));
  return launch === undefined ? refuseCommand(NO_VLLM) : sentTo(front, launch);
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

/** Whether a text names no image yet: what only a shell knows, or what somebody is to fill in. */
const isUnnamed = (image: string): boolean =>
  expansions(image).length > 0 || (imageReference(image) === undefined && !namesVllm(image));

/** Whether words are arguments of vLLM's by all of their options, a model among them. */
function areOfVllm(words: readonly string[]): boolean {
  const names = words.flatMap((word) => /^--([^=\s]+)/.exec(word)?.[1] ?? []);
  return names.includes("model") && names.length > 1 && names.every(isKnownOption);
}

/** The server that an image starts by the words behind it; `undefined` where it starts another program. */
function startedByImage(run: DockerRun): ByImage | undefined {
  const { image = "", rest } = run;
  const { entrypoint, command } = insideOf(run);
  if (!namesVllm(image) && !(isUnnamed(image) && areOfVllm(command))) return undefined;
  const at = command.slice(0, 2).findIndex((word) => SCRIPT.test(word));
  if (at >= 0) {
    const behind = command.slice(at + 1);
    const words = behind[0] === "serve" ? behind.slice(1) : behind;
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
  const written = [...command.join(" ").matchAll(/\$\{?([A-Za-z_]\w*|[@*\d])/g)];
  const open = written.flatMap(([, name = ""]) => (variables.has(name) ? [] : [`$${name}`]));
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

/** The servers of a `docker run`: by its command, or by an image that starts one itself. */
function inContainer(run: DockerRun): readonly Launch[] {
  const { options, image = "" } = run;
  const container = containerFacts(options);
  const { command } = insideOf(run);
  const unread = options.flatMap(({ name, value = "" }) => (name === "env-file" ? [value] : []));
  const [server] = serversOf(command, container.variables, unread);
  const made = { image, container, leftOut: [], unread };
  if (server !== undefined)
    return [{ ...made, ...server, leftOut: preparedBy(command), told: startedTwice(run) }];
  refuseEngine(image);
  refuseEngine(command.slice(0, 3).join(" "));
  const started = startedByImage(run);
  if (started === undefined) return scriptInside(run);
  const { words, script } = started;
  const told = script === undefined ? {} : { told: [byScript(script)] };
  return [{ ...made, variables: container.variables, words, ...told }];
}

/** Refuses an image of vLLM's that runs a script; any other container starts nothing of interest. */
function scriptInside(run: DockerRun): readonly never[] {
  const { commands } = serverInvocations(insideOf(run).command, new Map());
  const script = commands.flat().find((word) => isText(word) && SCRIPT.test(word));
  return isText(script) && namesVllm(run.image ?? "")
    ? refuseCommand(
        `Its container runs \`${asWritten(script)}\`, which isn't read here: give that script, or the \`vllm serve\` that it runs.`,
      )
    : [];
}

/**
 * A launch whose words are all known. An option, or further words, of which only a shell or a
 * condition knows the value are left out, and so is a secret; a model of that kind is refused, and
 * so is a placeholder that nobody filled.
 */
export function filled(launch: Launch): Launch {
  const { words: pieces, told } = apart(launch.words);
  const keys = withoutKeys(pieces.map(withLiterals));
  const { words, leftOut } = withoutUnknown(keys.words, launch);
  const image = isUnnamed(launch.image ?? "") ? undefined : launch.image;
  const unnamed =
    image === launch.image ? [] : [{ what: asWritten(launch.image ?? ""), why: NOT_KNOWN_IMAGE }];
  const open = new Set(
    [image ?? "", ...words].flatMap((word) => word.match(/(?<!["\w:$])\{[A-Za-z_]\w*\}/g) ?? []),
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
    told: [...(launch.told ?? []), ...told],
    leftOut: [...launch.leftOut, ...unnamed, ...leftOut, ...keys.leftOut],
  };
}

/** A word whose variables reach vLLM as they are written, since nothing fills them in. */
const withLiterals = (word: string): string => word.replace(LITERAL, standIn);

const LITERAL = new RegExp(`(?<!${OPEN})\\$\\{[A-Za-z_][^{}\\s]*\\}`, "g");

const NOT_KNOWN_IMAGE =
  "which image that is isn't known here: the one of every new stack file takes its place.";
const NOT_KNOWN_OPTION =
  "its value isn't known here, so the default counts: write it yourself if it matters.";
const NOT_KNOWN_WORDS =
  "what a condition or another program puts there isn't known: write it yourself if it matters.";

/** Words without options, and without further words, whose value only a shell knows. Refuses such a model. */
function withoutUnknown(
  words: readonly string[],
  { unread, hint = [] }: Pick<Launch, "unread" | "hint">,
) {
  const leftOut: LeftOut[] = [];
  const kept: string[] = [];
  for (const word of words) {
    const unknown = expansions(word);
    const flag = kept.at(-1) ?? "";
    if (unknown.length === 0) kept.push(word);
    else if (isModel(word, kept)) refuseCommand(notKnown(unknown, unread), ...hint);
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
