import { defined } from "@local-serving/base/faults/defined";
import { dotted, errorAt, type Fault, type Position } from "@local-serving/base/faults/fault";
import type { SourceDocument } from "@local-serving/base/faults/yamlDocument";
import { stringify } from "yaml";
import type { SettingToChange } from "../planned";
import type { MachineFault } from "./referenceFaults";
import { saidInProgram } from "./saidInProgram";
import type { StackSettings } from "./stackSettings";

const documents = new WeakMap<StackSettings, SourceDocument>();

/**
 * Keeps the document that settings were read from, so that what is found of them later can name
 * file and line.
 */
export function rememberDocument(settings: StackSettings, document: SourceDocument): void {
  documents.set(settings, document);
}

/** Names of the settings that a program gave instead of a stack file. */
const given = new WeakMap<StackSettings, string>();

/** Keeps the name by which messages call settings that a program gave, and not a stack file. */
export function rememberGiven(settings: StackSettings, source: string): void {
  given.set(settings, source);
}

/** What a program calls `machines` of a stack file. */
const GIVEN_AS = "settings";

/** The path of a setting as a program wrote it. */
export const givenPath = ([, ...rest]: readonly PropertyKey[]): string =>
  dotted([GIVEN_AS, ...rest]);

/** Name of what settings were read from, for messages. */
export const sourceOfSettings = (settings: StackSettings): string =>
  given.get(settings) ?? documents.get(settings)?.file ?? STACK_FILE;

const STACK_FILE = "stack file";

/** Place of a setting: in a file, or its path where a program gave it. */
interface Place extends Partial<Position> {
  readonly file?: string;
  readonly path?: string;
}

/** Place of a setting; nothing is known of settings that came from neither. */
export function placeOf(settings: StackSettings, path: readonly PropertyKey[]): Place {
  if (given.has(settings)) return { path: givenPath(path) };
  const document = documents.get(settings);
  return document === undefined ? {} : { file: document.file, ...document.locate(path) };
}

/** A fault of one machine's settings as one of the stack file. */
export function machineFault(settings: StackSettings, machine: string, fault: MachineFault): Fault {
  const path = ["machines", machine, ...fault.path];
  const [message = ""] = given.has(settings) ? saidInProgram([fault.message]) : [fault.message];
  return { ...errorAt(dotted(path), fault.code, message), ...placeOf(settings, path) };
}

/** Where a setting is: its line in the stack file, or its path in what a program gave. */
export type Locate = (path: readonly string[]) => {
  readonly line?: number;
  readonly path?: string;
};

/**
 * What was found, with what to write where in the stack file: at the end of its message, and the
 * same as data.
 */
export function placed(
  found: string,
  change: SettingToChange | undefined,
  // Without a stack file there are no places; `settings` are those that a program gave.
  places: Locate | typeof GIVEN_AS = () => ({}),
) {
  const message = places === GIVEN_AS ? saidInProgram([found]).join(" ") : found;
  if (change === undefined) return { message };
  const { value } = change;
  const locate: Locate = places === GIVEN_AS ? (path) => ({ path: givenPath(path) }) : places;
  const { line, path: given } = locate(change.path);
  const path = given ?? dotted(change.path);
  const where = line === undefined ? "" : `, line ${line}`;
  // As a line of YAML: text that reads as a number is in quotes.
  const write =
    value === undefined ? path : `${path}: ${stringify(value, { lineWidth: 0 }).trim()}`;
  return {
    message: `${message} In the ${given === undefined ? STACK_FILE : GIVEN_AS}${where}: \`${write}\`.`,
    ...defined({ path, line, value }),
  };
}
