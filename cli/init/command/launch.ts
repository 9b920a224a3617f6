import { WrongUse } from "@local-serving/base/commandLine/exit";
import { defined } from "@local-serving/base/faults/defined";
import { listOf } from "@local-serving/base/faults/quoting";
import { isPython, serverInvocations } from "@local-serving/vllm/argv/serverInvocations";
import { baseName, isText } from "@local-serving/vllm/argv/unknown";
import { engineNamed } from "../../../components/supply";
import {
  CONTAINER_PROGRAMS,
  containerRunIn,
  inContainer,
  insideOf,
  startedByImage,
} from "./containerStart";
import { containerVerb, type Fronted, withoutFront } from "./front";
import { rendered } from "./recipe";
import type { Picked, ScriptFile } from "./scriptState";
import {
  type Launch,
  preparation,
  preparedBy,
  refuseEngine,
  serversOf,
  variablesOf,
} from "./started";
import { startedInside, type WaitingContainer, WaitingContainers } from "./waiting";
import {
  asWritten,
  expansions,
  type LeftOut,
  reasonOf,
  refuseCommand,
  type ScriptCommand,
  type ScriptRead,
  type SourcedFile,
  scriptIn,
  shellVariable,
  unlessRefused,
} from "./words";

/** What a script starts, and what else stands in it. */
export interface Launches {
  readonly launches: readonly Launch[];
  readonly documents: readonly ScriptFile[];
  /** Its commands of which no start can be read, where others start a server. */
  readonly leftOut: readonly LeftOut[];
}

/** What is put into the words of a command before it is read, by the files that its script writes. */
type Prepared = (words: readonly string[], documents: readonly ScriptFile[]) => readonly string[];

/**
 * The servers that a command or a shell script starts; `beside` gives the text of a file that lies
 * beside it.
 */
export function launchesIn(
  text: string,
  prepared: Prepared = (words) => words,
  beside?: (name: string) => string | undefined,
): Launches {
  const script = PLACEHOLDER.test(text) ? rendered(text) : text;
  const read = scriptIn(script, { beside });
  const { launches: all, leftOut } = startsOf(read, prepared);
  const launches = all.map(pickedIn(read.picked)).map(sourcedIn(read.sourced));
  const open = launches.flatMap((launch) => modelVariable(launch) ?? [])[0];
  const found = read.alternatives.get(open ?? "") ?? [];
  // What an option or a question gives is no model that could be chosen.
  const known = found.filter(({ value }) => expansions(value).length === 0);
  const alternatives = known.length > 0 ? known : found;
  const beginning = { documents: read.documents, leftOut };
  if (alternatives.length === 0) return { launches, ...beginning };
  const each = alternatives.map(({ value, decided }) =>
    startsOf(scriptIn(script, { decided, beside }), prepared)
      .launches.map(sourcedIn(read.sourced))
      .map(asChosen(open ?? "", value)),
  );
  return { launches: unlike(each), ...beginning };
}

/** A start with each file that its script reads as a part of itself and that isn't at hand. */
const sourcedIn =
  (sourced: readonly SourcedFile[]) =>
  (launch: Launch): Launch => {
    if (sourced.length === 0) return launch;
    const open = [...launch.words, launch.image ?? "", ...launch.leftOut.flatMap(wordsOf)]
      .flatMap(expansions)
      .map(asWritten)
      .filter((each) => /^\$\{?[A-Za-z_]/.test(each));
    const names = [...new Set(open)].slice(0, MOST_NAMED).map((each) => `\`${each}\``);
    const why = `the file isn't given, so what it sets isn't known here${names.length === 0 ? "" : ` (it may be ${listOf(names)})`}: give this text as a file with that one beside it.`;
    return {
      ...launch,
      unread: [...(launch.unread ?? []), ...sourced.map(({ file }) => file)],
      leftOut: [
        ...sourced.map(({ file, line }) => ({ what: `\`. ${asWritten(file)}\``, why, line })),
        ...launch.leftOut,
      ],
    };
  };

const wordsOf = ({ words = [] }: LeftOut): readonly string[] => words;

/** Most unknown values of a start that a file is named for. */
const MOST_NAMED = 8;

/** The model of a start, as its words have it. */
function modelWord({ words: [first = "", ...rest] }: Launch): string {
  const at = [first, ...rest].findIndex((word) => /^--model(?:=|$)/.test(word));
  const option = [first, ...rest][at] ?? "";
  if (at < 0) return first;
  return option.includes("=") ? option.slice("--model=".length) : (rest[at] ?? "");
}

/** The variable that a start's model is, where its value isn't known. */
const modelVariable = (launch: Launch): string | undefined =>
  shellVariable(modelWord(launch), /^\$\{?([A-Za-z_]\w*)/);

/** A start with what else its script could take for its model. */
const pickedIn =
  (picked: readonly Picked[]) =>
  (launch: Launch): Launch => {
    const found = picked.find(({ value }) => value === modelWord(launch));
    if (found === undefined) return launch;
    const others = listOf(found.others.map((each) => `\`${asWritten(each)}\``));
    const text = `The script's \`${found.name}\` is read at \`${asWritten(found.key)}\`. It has ${others} as well: to read one of these, write it as the script's default.`;
    return { ...launch, told: [...(launch.told ?? []), text] };
  };

/** A start in one of the branches of its script, with what was chosen. */
const asChosen = (name: string, value: string) => (launch: Launch) => ({
  ...launch,
  told: [
    ...(launch.told ?? []),
    `A condition of the script decides \`$${name}\`: it is ${asWritten(value)} here.`,
  ],
});

/** The starts of all branches; one that is the same in each is none of a choice. */
function unlike(branches: readonly (readonly Launch[])[]): readonly Launch[] {
  const found = new Map<string, readonly Launch[]>();
  for (const launch of branches.flat()) {
    const key = JSON.stringify([launch.line, launch.image, launch.words]);
    found.set(key, [...(found.get(key) ?? []), launch]);
  }
  return [...found.values()].flatMap(([first, ...more]) => {
    if (first === undefined) return [];
    const isChoice = branches.length > 1 && more.length + 1 < branches.length;
    return [isChoice ? { ...first, isOptional: true } : first];
  });
}

/** The servers that the commands of a script start. */
function startsOf({ commands, documents }: ScriptRead, prepared: Prepared): ScriptStarts {
  const cut = commands.find(({ words: [first = ""] }) => first.startsWith("-"));
  if (cut !== undefined)
    refuseCommand(`\`${asWritten(cut.words.join(" "))}\` is no command. ${LINE_GOES_ON}`);
  const starts = new ScriptStarts((words) => prepared(words, documents));
  for (const command of commands) {
    if (starts.launches.length >= MOST_STARTS) break;
    starts.tryTo(command);
  }
  const [refused] = starts.refused;
  if (refused !== undefined && starts.launches.length === 0) throw refused;
  return starts;
}

/** What the commands of a script start, one after the other. */
class ScriptStarts {
  readonly launches: Launch[] = [];
  private readonly before: LeftOut[] = [];
  private readonly exported = new Map<string, string>();
  private readonly containers = new WaitingContainers();

  /** What its commands are refused for that start another engine, or that can't be read. */
  readonly refused: WrongUse[] = [];
  readonly leftOut: LeftOut[] = [];

  constructor(private readonly prepared: (words: readonly string[]) => readonly string[]) {}

  /** Takes a command. One that is refused hides none of the others. */
  tryTo(command: ScriptCommand): void {
    const refused = unlessRefused(() => this.take(command));
    if (!(refused instanceof WrongUse)) return;
    this.refused.push(refused);
    const { words, line } = command;
    if (this.leftOut.length < MOST_STARTS)
      this.leftOut.push({ what: namedBy(words), why: reasonOf(refused, ""), ...defined({ line }) });
  }

  take(command: ScriptCommand): void {
    const exported = this.containers.exported(this.exported);
    const front = withoutFront(command.words, exported);
    const words = this.prepared(front.words);
    const place = this.containers.of(front);
    const before = place?.before ?? this.before;
    // Most commands start nothing, and need no variables of their own.
    const seen = unlessRefused(() => launchOf(words, this.exported));
    if (!(seen instanceof WrongUse) && seen.length === 0) {
      if (prepares(words))
        before.push({ ...preparation(words), ...defined({ line: command.line }) });
      this.containers.take(words, command.line);
      return;
    }
    const inPlace = place !== undefined && !isOwnPlace(seen);
    const found = inPlace
      ? startedInside(place, words, variablesOf(front, exported))
      : this.found(seen, front, words);
    const all = found.map((each) => sentTo(front, each)).map(asIn(command));
    this.launches.push(...(inPlace || front.isElsewhere ? all : all.map(preparedIn(before))));
    if (inPlace) this.leavePlace(place);
    else this.containers.take(words, command.line);
  }

  private found(seen: readonly Launch[] | WrongUse, front: Fronted, words: readonly string[]) {
    const isSeen = !(seen instanceof WrongUse) && front.own.size === 0 && !front.isElsewhere;
    return isSeen ? seen : launchOf(words, variablesOf(front, this.exported));
  }

  /** A container without arguments was no server, since a later command starts one in it. */
  private leavePlace({ line }: WaitingContainer): void {
    const at = this.launches.findIndex((each) => each.line === line && each.words.length === 0);
    if (at >= 0) this.launches.splice(at, 1);
  }
}

/** A command by the words that it begins with. */
const namedBy = (words: readonly string[]): string =>
  `\`${asWritten(withoutFront(words).words.slice(0, 3).join(" "))}\``;

/** Whether starts have a container of their own. */
const isOwnPlace = (seen: readonly Launch[] | WrongUse): boolean =>
  !(seen instanceof WrongUse) && seen.some(({ container }) => container !== undefined);

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

/** A start with its place in the script. */
const asIn =
  ({ isOptional, line }: ScriptCommand) =>
  (launch: Launch): Launch => ({
    ...launch,
    ...defined({ line, isOptional: isOptional || undefined }),
  });

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
  if (run !== undefined) return inContainer(run, variables);
  if (CONTAINER_PROGRAMS.has(name) && containerVerb(rest)[0] === "compose")
    refuseCommand(NO_COMPOSE);
  const servers = serversOf(words, variables);
  if (servers.length === 0) refuseEngine(RUNNERS.test(name) ? words.slice(0, 3).join(" ") : name);
  return servers.map((each) => ({ ...each, leftOut: preparedBy(words) }));
}

/** Programs that run what the next words name; behind any other, a name is only spoken of. */
const RUNNERS =
  /^(?:python[\d.]*|uvx?|docker|podman|numactl|taskset|timeout|nice|setsid|srun|systemd-run)$/;

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
