import type { SourceDocument } from "../../faults/yamlDocument";
import type { StackSettings } from "./stackSettings";

const documents = new WeakMap<StackSettings, SourceDocument>();

/** Keeps the document that settings were read from, so that what is found of them later can name file and line. */
export function rememberDocument(settings: StackSettings, document: SourceDocument): void {
  documents.set(settings, document);
}

/** File, line and column of a setting, where it was read from a file. */
export function placeOf(settings: StackSettings, path: readonly PropertyKey[]) {
  const document = documents.get(settings);
  return document === undefined ? {} : { file: document.file, ...document.locate(path) };
}
