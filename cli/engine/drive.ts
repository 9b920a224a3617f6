import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Failed, WrongUse } from "@local-serving/base/commandLine/exit";
import { endingInOrder } from "@local-serving/base/commandLine/interrupt";
import { say } from "@local-serving/base/commandLine/output";
import { runShown } from "@local-serving/base/commandLine/run";
import { attempt, defined } from "@local-serving/base/faults/defined";
import { PROGRAM_VARIABLE, programMark } from "@local-serving/base/faults/sameProgram";
import { readTextFile } from "@local-serving/base/faults/textFile";
import { PROGRAM_FOLDER } from "@local-serving/base/programFolder";
import {
  NEW_STACK_VARIABLE,
  REFUSAL_VARIABLE,
  STACK_FILE_VARIABLE,
} from "@local-serving/machines/update/variables";
import { SKIPS_PREVIEW, WAITS_VARIABLE } from "../../components/program";
import { parseStackFile } from "../../components/settings";
import { LEVELS_FILE, LEVELS_VARIABLE, PACK_VARIABLE } from "../../policies/levels";
import { projectFolder, stackFile } from "../stack/stackFile";
import { backendEnvironment, stateIsEmpty } from "./backend";
import { failedPulls, isCancelled, isRefused, waitsForEver } from "./eventLog";
import { findPulumi, pathWith } from "./findPulumi";

/** What each of our words means to the engine, and what only some of its commands take. */
const ENGINE_COMMANDS = {
  preview: { command: "preview", isJudged: true, goesOn: false },
  up: { command: "up", isJudged: true, goesOn: true },
  down: { command: "destroy", isJudged: false, goesOn: true },
  refresh: { command: "refresh", isJudged: false, goesOn: false },
} as const;
export type EngineWord = keyof typeof ENGINE_COMMANDS;

/** The engine knows these wherever it asks. */
export const SAYS_YES = /^(--yes|-y|--yes=.*)$/;

/** Letters of the engine's short options that take no value: others may stand behind them. */
const SWITCHES = "-[defjrvyQ]*";

export const AS_JSON = new RegExp(`^(--json(=.*)?|${SWITCHES}j.*)$`);

/** Of an option that is given twice the engine takes the last: `--suppress-outputs=false`. */
const NO_OUTPUTS = "--suppress-outputs";

const NAMES_STACK = new RegExp(`^(--stack(=.*)?|${SWITCHES}s.*)$`);

/** How a run of the engine differs from what somebody typed. */
export interface DriveOptions {
  /** Variables for the engine and the program. */
  readonly env?: Readonly<Record<string, string>>;
  /** Where the engine's events of an `up` are kept; without it they are gone after it. */
  readonly events?: string;
  /** Is given the engine's events of an `up` that ended well. */
  readonly applied?: (events: string) => void;
  /**
   * Another file than the stack's own: the copy that the engine reads and may write to, and the
   * file that messages name.
   */
  readonly from?: { readonly copy: string; readonly file: string };
}

/** A run of the engine, as it was asked for. */
interface Drive {
  readonly word: EngineWord;
  readonly stack: string;
  /** Options for the engine. */
  readonly rest: readonly string[];
  readonly how: DriveOptions;
  /** Aborts once this process has to end. */
  readonly signal: AbortSignal;
}

/**
 * Runs the real Pulumi with our policies, our default state folder and a preview that is never
 * skipped. Returns its exit code; a signal that ends this process ends the engine in order first.
 */
export function drive(
  word: EngineWord,
  stack: string,
  given: readonly string[],
  how: DriveOptions = {},
): Promise<number> {
  const rest = word === "preview" ? given.filter((argument) => !SAYS_YES.test(argument)) : given;
  if (rest.length < given.length)
    say("A preview changes nothing and asks nothing, so it needs no `--yes`.");
  refuse(word, rest);
  return endingInOrder((signal) => driven({ word, stack, rest, how, signal }));
}

async function driven(run: Drive): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "local-serving-"));
  try {
    return await drivenIn(folder, run);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs the engine with a folder for what it and the program leave for this process. */
async function drivenIn(folder: string, run: Drive): Promise<number> {
  const { word, stack, rest, how, signal } = run;
  const levels = policyLevels(projectFolder(), rest);
  const refusal = join(folder, "refusal");
  const { run: engine } = await engineFor(stack, variablesFor(run, levels, refusal));
  const selected = await engine(["stack", "select", "--create", "--stack", stack]);
  if (selected !== 0 || signal.aborted) return selected;
  const args = engineArguments(run, levels);
  const hasLog = word !== "preview" && !rest.some((argument) => argument.startsWith(EVENT_LOG));
  const events = how.events ?? join(folder, "events");
  const waits = waitsForEver(events);
  const isStuck = () => (hasLog && waits()) || (isToEnd(signal) && !isCancelled(events));
  const code = await engine(hasLog ? [...args, EVENT_LOG, events] : args, isStuck);
  const isUp = hasLog && word === "up";
  if (isUp) sayEnd(code, events, how);
  sayRefusal(refusal, isUp && code !== 0 && isRefused(events));
  return code;
}

/** Variables for the engine and the program. */
function variablesFor(
  { word, stack, rest, how }: Drive,
  levels: string | undefined,
  refusal: string,
): Readonly<Record<string, string>> {
  const { isJudged } = ENGINE_COMMANDS[word];
  const isNew = isJudged && stateIsEmpty(projectFolder(), stack, process.env);
  return {
    ...defined({
      // The program judges by the same levels as the pack.
      [LEVELS_VARIABLE]: levels,
      [PACK_VARIABLE]: isJudged ? projectFolder() : undefined,
      [PROGRAM_VARIABLE]: isJudged ? programMark() : undefined,
      // As JSON the engine's own document has it.
      [REFUSAL_VARIABLE]: isJudged && !isJson(rest) ? refusal : undefined,
      [NEW_STACK_VARIABLE]: isNew ? "on" : undefined,
      [WAITS_VARIABLE]: word === "up" ? "on" : undefined,
      [STACK_FILE_VARIABLE]: how.from?.file,
    }),
    ...how.env,
  };
}

/** Says last why something was refused: by the program, or by a policy of the pack alone. */
function sayRefusal(file: string, byPack: boolean): void {
  const why = attempt(() => readTextFile(file));
  if (why !== undefined || byPack) say(why ?? "Refused, and nothing was changed.");
}

/** The terminal hands Ctrl-C to the engine itself: a second one would end it at once. */
const isToEnd = (signal: AbortSignal) => signal.aborted && signal.reason !== "SIGINT";

const isJson = (rest: readonly string[]) => rest.some((argument) => AS_JSON.test(argument));

/** The engine's command line. */
function engineArguments({ word, stack, rest, how }: Drive, levels: string | undefined) {
  const { command, isJudged, goesOn } = ENGINE_COMMANDS[word];
  const configured =
    levels === undefined || rest.some(isLevelsOption) ? [] : [LEVELS_OPTION, levels];
  const policies = isJudged
    ? ["--policy-pack", join(PROGRAM_FOLDER, "policies"), ...configured]
    : [];
  const file = how.from?.file ?? stackFile({ stack });
  // What fails on one machine is no reason to leave the others half done.
  const onError = goesOn && hasSeveralMachines(file) ? ["--continue-on-error"] : [];
  const from = how.from === undefined ? [] : ["--config-file", how.from.copy];
  // They come behind the policies: a hundred lines, and a refusal would be off the screen.
  const outputs = isJudged && !isJson(rest) ? [NO_OUTPUTS] : [];
  return [command, "--stack", stack, ...from, ...onError, ...policies, ...outputs, ...rest];
}

/** Says what came of an `up`, by its event log. */
function sayEnd(code: number, events: string, { applied }: DriveOptions): void {
  if (code !== 0) for (const sentence of failedPulls(events)) say(sentence);
  if (code === 0) applied?.(events);
}

/** A terminal that closes would end the engine at once: it gets a signal that it ends in order by. */
const WITHOUT_TERMINAL = ["sh", "-c", `trap '' HUP; exec "$@"`, "sh"];

/** The engine for a stack, in the project's folder: found, or installed. */
export async function engineFor(stack: string, more: NodeJS.ProcessEnv = {}) {
  const cwd = projectFolder();
  stackFile({ stack });
  expectPackages(cwd);
  const pulumi = await findPulumi();
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    ...more,
    PATH: pathWith(pulumi, process.env),
    PULUMI_SKIP_UPDATE_CHECK: "true",
    // Without it the engine doesn't know `--event-log`.
    PULUMI_DEBUG_COMMANDS: "true",
    ...backendEnvironment(cwd, stack, process.env),
  };
  // The engine asks its own questions.
  const run = (args: readonly string[], isStuck?: () => boolean) =>
    runShown([...WITHOUT_TERMINAL, pulumi, ...args], { cwd, env, stdio: "inherit" }, isStuck);
  return { pulumi, cwd, env, run };
}

/** Throws `Failed` where the program of a project isn't installed, before a state is made there. */
function expectPackages(project: string): void {
  const text = attempt(() => readTextFile(join(project, "Pulumi.yaml"))) ?? "";
  const main = /^main: *(node_modules\/\S+)/m.exec(text)?.[1];
  if (main !== undefined && !existsSync(join(project, main)))
    throw new Failed(
      `${project} has no ${main}, which the engine runs. Run \`npm install\` there first.`,
    );
}

/** Throws `WrongUse` for options by which the engine would do something else than was looked at. */
function refuse(word: EngineWord, rest: readonly string[]): void {
  const naming = rest.find((argument) => NAMES_STACK.test(argument));
  if (naming !== undefined)
    throw new WrongUse(`${naming}: name the stack before the other options, as \`--stack NAME\`.`);
  const skipping = rest.find((argument) => SKIPS_PREVIEW.test(argument));
  if (skipping !== undefined && word !== "refresh")
    throw new WrongUse(`${skipping}: the policies judge the preview, so it is never skipped.`);
}

/** A stack file with faults is the program's to tell. */
function hasSeveralMachines(file: string): boolean {
  return (
    attempt(() => Object.keys(parseStackFile(file, readTextFile(file)).machines).length > 1) ??
    false
  );
}

export const EVENT_LOG = "--event-log";

const LEVELS_OPTION = "--policy-pack-config";
const isLevelsOption = (argument: string) =>
  argument === LEVELS_OPTION || argument.startsWith(`${LEVELS_OPTION}=`);

/**
 * The policy configuration that is in force: the one named on the command line, else the project's
 * own.
 */
export function policyLevels(project: string, rest: readonly string[]): string | undefined {
  const at = rest.findIndex(isLevelsOption);
  const named = at < 0 ? undefined : (rest[at]?.split("=")[1] ?? rest[at + 1]);
  if (named !== undefined) return resolve(named);
  const own = join(project, LEVELS_FILE);
  return existsSync(own) ? own : undefined;
}
