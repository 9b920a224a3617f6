import { readFileSync } from "node:fs";
import { join } from "node:path";
import { jsonSchemaOf, openSchema, publishedSchema } from "../schema/jsonSchema";
import { REFERENCE_COMMAND, type ReferenceDocument, type ReferenceFile, renderMarkdown, renderTable } from "./markdown";

/** Every file of the reference: a page for each document, its JSON Schema, and a list of the pages. */
export function renderReference(documents: readonly ReferenceDocument[]): ReferenceFile[] {
  return [{ name: "README.md", text: renderContents(documents) }, ...documents.flatMap(renderDocument)];
}

function renderDocument(document: ReferenceDocument): ReferenceFile[] {
  const page = { name: `${document.name}.md`, text: renderMarkdown(document) };
  return document.schema === undefined
    ? [page]
    : [page, { name: `${document.name}.schema.json`, text: renderJsonSchema(document) }];
}

/** The JSON Schema for editors. It judges as the checks do: where they only warn, it lets through. */
function renderJsonSchema(document: ReferenceDocument): string {
  if (document.schema === undefined) throw new Error(`${document.name} has no schema`);
  const published = publishedSchema(jsonSchemaOf(document.schema), document.prefix ?? "");
  const { $schema, ...judged } = document.closed === false ? openSchema(published) : published;
  const rest = document.wholeFile?.(judged) ?? judged;
  const $comment = `Made by \`${REFERENCE_COMMAND}\` from ${document.madeFrom}. Edits here are lost.`;
  return `${JSON.stringify({ $schema, $comment, title: document.title, ...rest }, null, 2)}\n`;
}

function renderContents(documents: readonly ReferenceDocument[]): string {
  const rows = documents.map(({ name, title, schema }) => [
    `[${title}](${name}.md)`,
    schema === undefined ? "" : `[${name}.schema.json](${name}.schema.json)`,
  ]);
  return [
    `<!-- Made by \`${REFERENCE_COMMAND}\`. Edits here are lost. -->`,
    "# Reference",
    "Every key, default, range and variable, made from the schemas that judge the files. An editor that is given the JSON Schema beside a page completes and checks that file.",
    `${renderTable(["Page", "For editors"], rows)}\n`,
  ].join("\n\n");
}

/** The files that are missing from a folder or hold something else than they should. */
export function staleFiles(folder: string, files: readonly ReferenceFile[]): ReferenceFile[] {
  return files.filter(({ name, text }) => present(join(folder, name)) !== text);
}

function present(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
