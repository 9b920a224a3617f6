import { errorAt, type Fault } from "../../faults/fault";
import { putAt, readSetting } from "./configuration";

/** A document with one key set, or why that is refused. */
export type SetResult = { readonly document: Record<string, unknown> } | { readonly fault: Fault };

/** Sets one key of a session-analytics document, typed as the schema wants it; other keys keep their order. */
export function setKey(
  document: Readonly<Record<string, unknown>>,
  name: string,
  text: string,
  prefix: string,
): SetResult {
  const read = readSetting(name, text, prefix);
  if ("fault" in read) return read;
  const copy = structuredClone(document) as Record<string, unknown>;
  const noBlock = putAt(copy, read.key.path, read.value);
  const message = `\`${noBlock}\` is not a map in this file, so nothing can be set in it.`;
  return noBlock === undefined ? { document: copy } : { fault: errorAt(name, "wrong_type", message) };
}

/** How the file is written: two spaces, a newline at its end. */
export const renderDocument = (document: unknown): string => `${JSON.stringify(document, null, 2)}\n`;
