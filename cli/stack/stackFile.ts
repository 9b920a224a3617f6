import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { WrongUse } from "@local-serving/base/commandLine/exit";
import { say } from "@local-serving/base/commandLine/output";
import { PROGRAM_FOLDER } from "@local-serving/base/programFolder";
import { Option } from "commander";
import { projectAbove } from "../../bundle/project.cjs";
import { isSample } from "./sample";
import { selectedStack } from "./selectedStack";
import { STACK_VARIABLE } from "./whichStack";

/** How a command line names a stack file. */
export type StackFileOptions = { readonly stack?: string; readonly file?: string };

/** An option that says which stack file, or what part of it; help lists these last. */
const naming = (flags: string, about: string) =>
  new Option(flags, about).helpGroup("Which stack file:");

export const stackOption = (flags = "--stack <name>") =>
  naming(flags, "Pulumi.<name>.yaml (default: see `serving --help`)");

export const stackFileOptions = () => [
  stackOption(),
  naming("--file <path>", "read this stack file instead"),
];

export const machineOption = () =>
  naming("--machine <name>", "machine of the stack file (default: the first)");

/**
 * The stack that somebody asked for, on the command line or by the variable. An empty variable
 * counts as not set.
 */
export const askedStack = ({ stack }: StackFileOptions = {}): string | undefined =>
  stack ?? (process.env[STACK_VARIABLE] || undefined);

/**
 * The stack that a command means when its command line names none: that of the variable, else the
 * only one in the folder, else the one that Pulumi has selected, else the only one that isn't the
 * sample of a clone. `undefined` where none of these says it: nothing is guessed, since a command
 * could change or remove another stack.
 */
export function impliedStack(): string | undefined {
  const names = stackNames();
  const asked = askedStack();
  if (asked !== undefined || names.length < 2) return asked ?? names[0];
  const selected = selectedStack(projectFolder(), process.env);
  const [own, ...others] = names.filter((name) => !isSample(fileOf(name)));
  return names.find((name) => name === selected) ?? (others.length === 0 ? own : undefined);
}

/** The stack that a command means. Throws `WrongUse` where that isn't clear. */
export function stackName({ stack = impliedStack() }: StackFileOptions): string {
  if (stack !== undefined) return stack;
  const names = stackNames();
  throw new WrongUse(
    names.length === 0
      ? `No stack file in ${projectFolder()}. \`serving init\` writes one for this machine.`
      : `Which stack? ${projectFolder()} has ${names.join(", ")}. Name one by \`--stack NAME\`, \`export ${STACK_VARIABLE}=NAME\` or \`pulumi stack select NAME\`.`,
  );
}

/** The stack of a command where that is a clone's sample, and nobody asked for it. */
export function sampleMeant(options: StackFileOptions): string | undefined {
  if (options.file !== undefined || askedStack(options) !== undefined) return undefined;
  const stack = impliedStack();
  return stack !== undefined && isSample(fileOf(stack)) ? stack : undefined;
}

/** Says that a command is about a clone's sample: its figures are those of another machine. */
export function saySample(options: StackFileOptions): void {
  const stack = sampleMeant(options);
  if (stack === undefined) return;
  say(
    `${stack} is this project's sample: \`serving init\` writes a stack file for your machine. Once you edit Pulumi.${stack}.yaml, it is yours.`,
  );
}

/**
 * The stack file to read. Throws `WrongUse` where the project has no stack of that name, with those
 * that it has.
 */
export function stackFile(options: StackFileOptions): string {
  if (options.file !== undefined) return options.file;
  sayProject();
  const file = stackPath(options);
  if (existsSync(file)) return file;
  const stack = stackName(options);
  throw new WrongUse(`No Pulumi.${stack}.yaml in ${projectFolder()}. ${otherwise(stack)}`);
}

/** A machine has one stack file: nobody is told to write a second one beside those that are there. */
function otherwise(stack: string): string {
  const names = stackNames();
  return names.length === 0
    ? `Stacks there: none. \`serving init --name ${stack}\` writes one for this machine.`
    : `Stacks there: ${names.join(", ")}. Name one of them.`;
}

let said = "";

/** Says once which project is meant if the working folder isn't in it: this program's own. */
function sayProject(): void {
  const here = process.cwd();
  const project = projectFolder();
  if (projectAbove(here) !== undefined || said === here) return;
  said = here;
  say(`No project is in ${here}: this is about the one in ${project}.`);
}

/**
 * Where the project's stack has its file, whether it is there or not. Throws `WrongUse` for what
 * can't be a stack's name.
 */
export function stackPath(options: StackFileOptions, project = projectFolder()): string {
  const stack = stackName(options);
  if (!/^[\w.-]+$/.test(stack))
    throw new WrongUse(
      `\`${stack}\` is no name of a stack: that has letters, digits, dashes and dots.`,
    );
  return fileOf(stack, project);
}

const fileOf = (stack: string, project = projectFolder()): string =>
  join(project, `Pulumi.${stack}.yaml`);

export const stackNames = (project = projectFolder()): string[] =>
  readdirSync(project)
    .flatMap((name) => stackOf(name) ?? [])
    .sort();

/** Name of the stack that a file is of; `undefined` where its name has none. */
export const stackOf = (file: string): string | undefined =>
  /^Pulumi\.(.+)\.yaml$/.exec(basename(file))?.[1];

/**
 * The operator's project, which holds his stack files, models, levels and state: the nearest folder
 * upward with a Pulumi.yaml of ours, else the one that this program is installed in. Throws
 * `WrongUse` where there is none.
 */
export function projectFolder(): string {
  const project = projectFound();
  if (project !== undefined) return project;
  const here = process.cwd();
  throw new WrongUse(
    existsSync(join(here, "Pulumi.yaml"))
      ? `${here} has a Pulumi program of yours and no stack file. Give this command a copy of the program's settings, \`--file COPY\`: node_modules/local-serving/docs/guide/any-program.md says how to write it.`
      : `No project of local-serving is in ${here} or above it. Run \`serving init\` in an empty folder: it makes one for this machine.`,
  );
}

/** Whether this folder, or one above it, is a project of ours. */
export const isInProject = (): boolean => projectFound() !== undefined;

/** The stacks of the project that this folder is in; none where it is in no project. */
export const stacksHere = (): string[] => (isInProject() ? stackNames() : []);

/** Where models and levels of the operator's are read: without a project there are none but ours. */
export const projectOrProgram = (): string => projectFound() ?? PROGRAM_FOLDER;

/** Where a page of ours is, as seen from the operator's project. */
export const pageFromProject = (page: string): string =>
  projectAbove(process.cwd()) === PROGRAM_FOLDER ? page : join("node_modules/local-serving", page);

const projectFound = (): string | undefined =>
  projectAbove(process.cwd()) ?? projectAbove(PROGRAM_FOLDER);
