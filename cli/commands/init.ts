import { existsSync, statSync } from "node:fs";
import { command, type Outcome } from "@local-serving/base/commandLine/command";
import { Failed, WrongUse } from "@local-serving/base/commandLine/exit";
import { headed } from "@local-serving/base/commandLine/layout";
import type { Format } from "@local-serving/base/commandLine/output";
import { runsHere } from "@local-serving/base/commandLine/ownCommand";
import { defined } from "@local-serving/base/faults/defined";
import { readJsonFile } from "@local-serving/base/faults/jsonDocument";
import { plainJson } from "@local-serving/base/faults/plainText";
import { valueBy } from "@local-serving/base/faults/schemaFaults";
import { shellWords } from "@local-serving/base/faults/shellWords";
import { readTextFile } from "@local-serving/base/faults/textFile";
import { isOverSsh } from "@local-serving/machines/address";
import { OTHER_DEVICE, whyNoServer } from "@local-serving/machines/devices/devices";
import { type Command, InvalidArgumentError, Option } from "commander";
import { operatorHome } from "../../components/evidence";
import type { MachinePlan } from "../../components/plan";
import { exportsFor } from "../../components/preflight";
import { declaresNothing, machine } from "../../components/settings";
import { addServers } from "../init/add/addServers";
import { addOutcome } from "../init/add/outcome";
import { appliedAlready } from "../init/appliedAlready";
import { choose } from "../init/choose";
import { type CommandNotes, notesText } from "../init/command/notes";
import { COMMAND } from "../init/command/words";
import { found } from "../init/found";
import { calledBy, type Given, givenText } from "../init/from/given";
import { isKnownFile } from "../init/from/published";
import type { Published } from "../init/from/source";
import { digestsOf } from "../init/pinnedImages";
import { makeProject, type Project, pinOf, projectHere, WORKFLOW } from "../init/project";
import { atTerminal } from "../init/questions";
import { machineName } from "../init/settings";
import { keptIn, writeNew } from "../init/writeNew";
import { type Installed, installIn } from "../packages/install";
import { ONTO_PATH } from "../packages/pin";
import { headline } from "../plan/screen/headline";
import { readHost } from "../sees/computer/computer";
import { type HostFacts, hostFacts } from "../sees/computer/facts";
import { sourcesAt, thisComputer } from "../sees/computer/sources";
import { type OneMachine, readOneMachine } from "../stack/readStack";
import {
  askedStack,
  impliedStack,
  machineOption,
  projectOrProgram,
  sampleMeant,
  stackNames,
  stackPath,
} from "../stack/stackFile";
import { typedFor } from "../stack/typed";
import { takeRecords, verifiedStackFiles } from "../verify/lastVerify";

type InitOptions = Readonly<
  Partial<
    Record<"name" | "from" | "on" | "fromCommand" | "pin" | "ci" | "machine", string> &
      Record<"facts" | "yes" | "all", true>
  > & {
    readonly install: boolean;
    readonly format: Format;
  }
>;

export function initCommand(): Command {
  return command({
    name: "init",
    options: initOptions(),
    notes: `In a folder without a project it makes one: package.json, Pulumi.yaml, .gitignore, and what \`npm install\` brings. In a
folder with a project it adds a stack file, in one step. Nothing on the machine is changed or started. A server's argv is
read without its keys.

With --from-command, server B runs what a published command or file runs: model, share, window and so on become settings,
the rest \`extraArgs\`. A file may be a shell script, a recipe of sparkrun, a compose file, a systemd unit, a Podman Quadlet, a
Kubernetes manifest, a llama-swap configuration, vLLM's own --config, or what \`docker inspect\` prints. It names what it leaves
out, with the reason. No secret is written, and nothing of it is run.

Where the stack file is there, --from-command adds the server to it, under the next free letter, port and name: it shows
the change and the plan that comes of it, and writes after a yes or with --yes. The old file is kept beside it.

Exit code: 0 written, 1 not written, or written but something has to be fixed first, as it says, 2 wrong use, an
unreadable file, or without --from-command a stack file that is there already.`,
    example: "init --yes",
    run: async (options: InitOptions) =>
      options.facts === true ? printed(await factsOf(options)) : initialized(options),
  });
}

const initOptions = (): Option[] => [
  new Option(
    "--name <name>",
    "name of the stack; its file is Pulumi.<name>.yaml (default: $LOCAL_SERVING_STACK, else the machine's host name)",
  ),
  new Option("--on <address>", "look at another machine, as ssh://user@host, instead of this one")
    .argParser(machineOverSsh)
    .conflicts("from"),
  new Option(
    "--from <file>",
    "write it from what --facts printed on another machine, and don't look at this one; any other file is read as --from-command reads it",
  ),
  new Option(
    "--from-command <command>",
    "take server B from this command (`vllm serve ...`, `docker run ...`) or file; - is stdin",
  ).conflicts("facts"),
  new Option(
    "--all",
    "make a server of each vLLM, also where the file starts one or another: each then starts on request",
  ),
  new Option("--facts", "print what was found as JSON, and write nothing"),
  new Option(
    "-y, --yes",
    "ask nothing: take the model that fits best, this machine alone, the clients on PATH; or add the server",
  ),
  new Option(
    "--ci <service>",
    `also write a workflow that posts the plan of a pull request: ${WORKFLOW}`,
  ).choices(["github"]),
  machineOption(),
  new Option("--no-install", "print `npm install` instead of running it"),
  new Option(
    "--pin <spec>",
    "put this into package.json instead of this version, such as a tarball",
  ),
];

const printed = (facts: HostFacts) => ({ result: facts, text: plainJson(facts) });

async function factsOf({ from, on }: InitOptions): Promise<HostFacts> {
  if (from === undefined && on === undefined && process.platform === "darwin")
    throw new Failed(whyNoServer(OTHER_DEVICE) ?? "");
  if (from !== undefined) return valueBy(hostFacts, from, readJsonFile(from));
  return readHost(on === undefined ? thisComputer() : await sourcesAt(on));
}

/** A stack file in a project. Where there is no project, it is made around the file. */
async function initialized(options: InitOptions): Promise<Outcome> {
  const project = projectHere();
  const pin = pinOf(project, options.pin);
  const asked = options.name ?? askedStack() ?? stackThere(project, options);
  const kept = asked === undefined ? undefined : keptFile(asked, project, options);
  if (kept !== undefined) return surrounded(kept, project, options, pin);
  const { command, isFacts } = await publishedIn(options);
  const looked = isFacts ? options : defined({ ...options, from: undefined });
  const there = command && stackFileThere(asked ?? onlyStack(project, looked), project);
  if (command !== undefined && there !== undefined) return added(there, command, options, looked);
  if (options.machine !== undefined)
    throw new WrongUse("--machine is for a stack file that is there and gets a server.");
  const facts = await factsOf(looked);
  const name = asked ?? hostStack(facts.host);
  const file = stackPath({ stack: name }, project.folder);
  keptIn(file, options);
  const writing = {
    name,
    folder: project.folder,
    verified: (machine: string) => verifiedStackFiles(machine),
  };
  const first = appliedAlready(facts, writing);
  const choice = await calledBy(command?.source ?? COMMAND, () =>
    chosen(looked, facts, { name, ...defined({ command }) }),
  );
  const { made, mend: ofPin } = makeProject(project, { pin, ...defined({ ci: options.ci }) });
  writeNew(file, choice.text, options);
  const { mend, next } = await installed(options, project);
  const { model, refused, lasting, told } = choice;
  const typed = typedFor({ stack: name });
  // What is said of another stack names it.
  const toFix = [...first, ...[...choice.mend, ...ofPin, ...mend].map(typed)];
  const failed = lasting.length > 0 || toFix.length > 0;
  const result = {
    file,
    made,
    model,
    facts,
    mend: toFix,
    refused,
    doubts: choice.doubts.map(typed),
    ...defined({ command: told }),
    next: [...next, ...nextCommands(choice, failed || refused.length === 0)].map(typed),
  };
  return { result, text: report(result), failed };
}

/**
 * A stack that is there and for which the rest is made: its file came from elsewhere, or only the
 * workflow is missing.
 */
const stackThere = ({ folder, isNew }: Project, { ci }: InitOptions): string | undefined =>
  isNew || ci !== undefined ? stackNames(folder)[0] : undefined;

/** The stack file, where it declares something and only the files around it are asked for. */
function keptFile(
  stack: string,
  project: Project,
  { ci, fromCommand }: InitOptions,
): string | undefined {
  const file = stackPath({ stack }, project.folder);
  const wanted = fromCommand === undefined && (project.isNew || ci !== undefined);
  return wanted && existsSync(file) && !declaresNothing(file, readTextFile(file))
    ? file
    : undefined;
}

async function surrounded(
  file: string,
  project: Project,
  options: InitOptions,
  pin?: string,
): Promise<Outcome> {
  const { made, mend: ofPin } = makeProject(project, { pin, ...defined({ ci: options.ci }) });
  if (project.isNew) takeAllRecords(project);
  const { mend: ofNpm, next } = made.length === 0 ? NOTHING : await installed(options, project);
  const mend = [...ofPin, ...ofNpm];
  const text = [
    ...madeText(made),
    `${file} stays as it is.`,
    ...mend,
    ...(next.length === 0 ? [] : ["", headed("Next:", next)]),
  ];
  return { result: { file, made, mend, next }, text: text.join("\n"), failed: mend.length > 0 };
}

/** The project's only stack, which is the machine's where no other machine was named. */
const onlyStack = ({ isNew }: Project, { from, on }: InitOptions): string | undefined =>
  isNew || from !== undefined || on !== undefined || sampleMeant({}) !== undefined
    ? undefined
    : impliedStack();

/** The file of a stack, where it declares something. */
function stackFileThere(stack: string | undefined, { folder, isNew }: Project) {
  if (stack === undefined) return undefined;
  const file = stackPath({ stack }, folder);
  if (!existsSync(file) || declaresNothing(file, readTextFile(file))) return undefined;
  if (isNew)
    throw new WrongUse(
      `${file} is there, without a project around it: run \`serving init\` first, then this again.`,
    );
  return file;
}

/** Adds the servers of a command to a stack file. */
async function added(
  file: string,
  command: Given,
  options: InitOptions,
  looked: InitOptions,
): Promise<Outcome> {
  const { all, machine: named, yes, format, ci } = options;
  if (ci !== undefined)
    throw new WrongUse(`--ci ${ci}: run it by itself, since ${file} is there already.`);
  const into = readOneMachine(file, named);
  const seen = await seenOn(into, looked);
  const home = looked.from === undefined && looked.on === undefined ? operatorHome() : undefined;
  const place = { name: into.name, project: projectOrProgram(), ...defined({ home }) };
  const made = await calledBy(command.source, () =>
    addServers(into, { command, all, ask: digestsOf, seen, place }),
  );
  return addOutcome(into, made, { yes: yes === true, format, again: againText(options) });
}

/** What is seen of a stack file's machine; nothing where it can't be looked at and nobody asked for that. */
async function seenOn({ settings }: OneMachine, options: InitOptions) {
  if (options.from !== undefined || options.on !== undefined) return factsOf(options);
  const on = isOverSsh(settings) ? settings.dockerHost : undefined;
  try {
    return await factsOf({ ...options, ...defined({ on }) });
  } catch (error) {
    if (error instanceof Failed) return undefined;
    throw error;
  }
}

/** The same command with a yes. */
function againText({ name, machine, on, from, fromCommand, all }: InitOptions): string {
  if (fromCommand === "-" || from === "-") return "the same command with `--yes`";
  const given = Object.entries({ name, machine, on, from, "from-command": fromCommand });
  const words = given.flatMap(([key, value]) => (value === undefined ? [] : [`--${key}`, value]));
  return shellWords(["serving", "init", ...words, ...(all ? ["--all"] : []), "--yes"]);
}

/** What `serving verify` kept about stack files moves with them. */
function takeAllRecords({ folder }: Project): void {
  for (const stack of stackNames(folder)) {
    const file = stackPath({ stack }, folder);
    takeRecords(file, readTextFile(file));
  }
}

interface Named {
  /** Name of the stack. */
  readonly name: string;
  readonly command?: Published;
}

/**
 * The text that server B is to run, and the file with facts: what `--from` names is either, and told
 * by what stands in it.
 */
async function publishedIn({ fromCommand, from }: InitOptions) {
  const text = from !== undefined && isFile(from) ? readTextFile(from) : "";
  if (from === undefined || (/^\s*(?:\{|$)/.test(text) && !isKnownFile({ text }))) {
    const command = fromCommand === undefined ? undefined : await commandGiven(fromCommand);
    return { command, isFacts: true };
  }
  if (fromCommand !== undefined)
    throw new WrongUse(
      `--from: ${from} holds no facts of a machine, as \`serving init --facts\` prints them. Give only one of the two files.`,
    );
  return { command: { text, file: from, source: from }, isFacts: false };
}

const isFile = (path: string): boolean => existsSync(path) && statSync(path).isFile();

/** A command, a file with one or of another kind, or stdin. */
async function commandGiven(given: string): Promise<Given> {
  const found = await givenText(given, `${COMMAND} -`);
  return found?.file === undefined ? { text: found?.text ?? given, source: COMMAND } : found;
}

/** Asks a person at a terminal, unless they said that nothing is to be asked. */
function chosen({ from, on, yes, all }: InitOptions, facts: HostFacts, { name, command }: Named) {
  // What lies on this computer says nothing of another one.
  const home = from === undefined && on === undefined ? operatorHome() : undefined;
  const place = { name, project: projectOrProgram(), ...defined({ home }) };
  const asks = yes !== true && process.stdin.isTTY === true;
  const given = { askRegistry: digestsOf, ...defined({ command, all }) };
  return asks
    ? atTerminal((ask) => choose(facts, place, { ask, ...given }))
    : choose(facts, place, given);
}

/** The stack of a machine is named as the machine is, without the domain. */
const hostStack = (host: string): string => machineName({ name: host.split(".")[0] ?? "" });

const NOTHING: Installed = { mend: [], next: [] };

/** A project that is there has its packages. */
async function installed({ install }: InitOptions, { folder, isNew }: Project): Promise<Installed> {
  if (!isNew) return NOTHING;
  return install ? installIn(folder) : { mend: [], next: ["npm install"] };
}

function machineOverSsh(dockerHost: string): string {
  if (isOverSsh({ dockerHost }) && machine.shape.dockerHost.safeParse(dockerHost).success)
    return dockerHost;
  throw new InvalidArgumentError("Expected ssh://user@host, or ssh://user@host:port.");
}

/**
 * What to run next, in order, from the project's folder: at a terminal `up` is the whole way. A plan
 * that only `up` can complete isn't asked for before it.
 */
const nextCommands = ({ machine }: { readonly machine: MachinePlan }, plans: boolean): string[] => [
  ...(plans ? ["serving plan"] : []),
  ...exportsFor(machine),
  "serving up",
];

interface Report {
  readonly file: string;
  readonly made: readonly string[];
  readonly facts: HostFacts;
  readonly command?: CommandNotes;
  readonly mend: readonly string[];
  /** Why servers may not start, in the plan's own words. */
  readonly doubts: readonly string[];
  readonly next: readonly string[];
}

function report({ file, made, facts, command, mend, doubts, next }: Report): string {
  const text = [
    headed(
      `Found on ${facts.host}:`,
      found(facts).map((each) => `- ${each}`),
    ),
    "",
    ...madeText(made),
    `${file} is written: each value has its reason above it.`,
    ...(command === undefined ? [] : notesText(command)),
    ...(mend.length === 0 ? [] : ["", "Fix first:", ...mend.map((each) => `  - ${each}`)]),
    ...(doubts.length === 0
      ? []
      : ["", ...doubts.map((each) => `But ${headline(each).replace(": may", " may")}`)]),
    "",
    headed("Next:", next),
  ].join("\n");
  const typed = runsHere(text);
  return typed === text ? text : `${typed}\n\nTo type \`serving\` alone, once:\n  ${ONTO_PATH}`;
}

const madeText = (made: readonly string[]): string[] =>
  made.length === 0 ? [] : [`Made in this folder: ${made.join(", ")}.`];
