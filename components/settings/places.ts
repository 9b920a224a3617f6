import { defined } from "../../faults/defined";
import { dotted, errorAt, type Fault } from "../../faults/fault";
import type { SourceDocument } from "../../faults/yamlDocument";
import type { MachineFault } from "./referenceFaults";
import type { StackSettings } from "./stackSettings";

const documents = new WeakMap<StackSettings, SourceDocument>();

/**
 * Keeps the document that settings were read from, so that what is found of them later can name
 * file and line.
 */
export function rememberDocument(settings: StackSettings, document: SourceDocument): void {
  documents.set(settings, document);
}

/** File, line and column of a setting, where it was read from a file. */
export function placeOf(settings: StackSettings, path: readonly PropertyKey[]) {
  const document = documents.get(settings);
  return document === undefined ? {} : { file: document.file, ...document.locate(path) };
}

/** A fault of one machine's settings as one of the stack file. */
export function machineFault(settings: StackSettings, machine: string, fault: MachineFault): Fault {
  const path = ["machines", machine, ...fault.path];
  return { ...errorAt(dotted(path), fault.code, fault.message), ...placeOf(settings, path) };
}

/** Where a setting is in the stack file. */
export type Locate = (path: readonly string[]) => { readonly line?: number };

/** Without a stack file there are no places. */
export const nowhere: Locate = () => ({});

/**
 * The setting that mends what was found, by the steps of its path, and what to write there where
 * that is known.
 */
export type SettingToChange = {
  readonly path: readonly string[];
  readonly value?: string | number | boolean;
};

/**
 * What was found, with what to write where in the stack file: at the end of its message, and the
 * same as data.
 */
export function placed(message: string, change: SettingToChange | undefined, locate: Locate) {
  if (change === undefined) return { message };
  const { value } = change;
  const path = dotted(change.path);
  const { line } = locate(change.path);
  const where = line === undefined ? "" : `, line ${line}`;
  const write = value === undefined ? path : `${path}: ${value}`;
  return {
    message: `${message} In the stack file${where}: \`${write}\`.`,
    ...defined({ path, line, value }),
  };
}
