import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { spoken } from "@local-serving/base/commandLine/ownCommand";
import { filledFile } from "@local-serving/base/faults/textFile";
import type * as z from "zod";
import {
  descriptionOf,
  type JsonSchema,
  jsonSchemaOf,
  openSchema,
  publishedSchema,
  type SchemaKey,
  schemaKeys,
} from "../schema/jsonSchema";

/**
 * Every file of the reference: a page for each document, its JSON Schema, and a list of the pages.
 */
export function renderReference(documents: readonly ReferenceDocument[]): ReferenceFile[] {
  return [
    { name: "README.md", text: renderContents(documents) },
    ...documents.flatMap(renderDocument),
  ];
}

function renderDocument(document: ReferenceDocument): ReferenceFile[] {
  const { name, schema = document.output } = document;
  const page = { name: `${name}.md`, text: renderMarkdown(document) };
  if (schema === undefined) return [page];
  const { declarations } = document;
  const types = declarations && {
    name: `${name}.d.ts`,
    text: `// ${madeFrom(document)}\n\n${declarations(publishedSchema(jsonSchemaOf(schema), ""))}`,
  };
  return [
    page,
    { name: `${name}.schema.json`, text: renderJsonSchema(document, schema) },
    ...(types === undefined ? [] : [types]),
  ];
}

/**
 * Renders the JSON Schema for editors. It judges as the checks do, and accepts what they only warn
 * about.
 */
function renderJsonSchema(document: ReferenceDocument, schema: z.ZodType): string {
  const published = publishedSchema(jsonSchemaOf(schema), document.prefix ?? "");
  const { $schema, ...judged } = document.closed === false ? openSchema(published) : published;
  const rest = document.wholeFile?.(judged) ?? judged;
  const $comment = madeFrom(document);
  return `${JSON.stringify({ $schema, $comment, title: document.title, ...rest }, null, 2)}\n`;
}

function renderContents(documents: readonly ReferenceDocument[]): string {
  const rows = documents.map(({ name, title, output, schema = output }) => [
    `[${title}](${name}.md)`,
    schema === undefined ? "" : `[${name}.schema.json](${name}.schema.json)`,
  ]);
  return [
    `<!-- Made by \`${referenceMaker()}\`. Edits here are lost. -->`,
    "# Reference",
    "Every key, default, range and variable, made from the schemas that judge the files. With the JSON Schema beside a page, your editor completes and checks that file.",
    `${renderTable(["Page", "For editors"], rows)}\n`,
  ].join("\n\n");
}

/** The files that are missing from a folder or hold something else than they should. */
export function staleFiles(folder: string, files: readonly ReferenceFile[]): ReferenceFile[] {
  return files.filter(({ name, text }) => {
    const file = join(folder, name);
    return !existsSync(file) || readFileSync(file, "utf8") !== text;
  });
}

/**
 * One page of the reference. A page about a file has a schema, and gets a JSON Schema for editors
 * beside it.
 */
export interface ReferenceDocument {
  /** Name of the page's file, without its ending. */
  readonly name: string;
  readonly title: string;
  /** Where the page's facts live in the project, as a path from its root. */
  readonly madeFrom: string;
  readonly intro: readonly string[];
  readonly schema?: z.ZodType;
  /**
   * The schema of what our program writes: published as well, and the page's own words list its
   * keys.
   */
  readonly output?: z.ZodType;
  /**
   * Puts the schema into its place in the whole file, when the file holds more than the schema
   * describes.
   */
  readonly wholeFile?: (schema: JsonSchema) => JsonSchema;
  /** Declares the file's types for programs that write one; they are published beside the page. */
  readonly declarations?: (schema: JsonSchema) => string;
  /** `false` where a key that the schema does not know is only worth a warning. */
  readonly closed?: boolean;
  /** What the harness's variables begin with, where keys have variables. */
  readonly prefix?: string;
  /** Further parts of the page, behind the keys. */
  readonly sections?: readonly ReferenceSection[];
}

/** A part of a page under a heading of its own, as paragraphs. */
export type ReferenceSection = { readonly heading: string; readonly text: readonly string[] };

/** A file of the reference, by its name within the reference's folder. */
export type ReferenceFile = { readonly name: string; readonly text: string };

/** The command that makes the reference; every made file names it. */
export const referenceMaker = (): string => spoken("serving harness reference");

const madeFrom = (document: ReferenceDocument): string =>
  `Made by \`${referenceMaker()}\` from ${document.madeFrom}. Edits here are lost.`;

/**
 * Marks a description that is ours because the specification has none; the page's introduction says
 * so.
 */
export const OURS_MARK = "†";

/**
 * The words of a page from its Markdown file, with what is made in the place of each `{{...}}`.
 */
export function readPage(file: string, made: Readonly<Record<string, string>> = {}) {
  const [top = "", ...parts] = filledFile(file, made).split(/^## /m);
  const [title = "", ...intro] = top.trim().split("\n\n");
  const sections = parts.map((part) => {
    const [heading = "", ...text] = part.trim().split("\n\n");
    return { heading, text };
  });
  return { name: basename(file, ".md"), title: title.replace("# ", ""), intro, sections };
}

/** A page as Markdown: its introduction, its keys block by block, its further sections. */
function renderMarkdown(document: ReferenceDocument): string {
  const keys =
    document.schema === undefined ? [] : keySections(document.schema, document.prefix ?? "");
  const parts = [
    `<!-- ${madeFrom(document)} -->`,
    `# ${document.title}`,
    ...document.intro,
    ...[...keys, ...(document.sections ?? [])].flatMap(({ heading, text }) => [
      `## ${heading}`,
      ...text,
    ]),
  ];
  return `${parts.join("\n\n")}\n`;
}

/** A Markdown table; bars and line ends in cells do no harm. */
export function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(" | ")} |`;
  return [line(head), `|${head.map(() => " --- ").join("|")}|`, ...rows.map(line)].join("\n");
}

function keySections(schema: z.ZodType, prefix: string): ReferenceSection[] {
  const keys = schemaKeys(jsonSchemaOf(schema));
  const blocks: (SchemaKey | undefined)[] = [undefined, ...keys.filter(({ block }) => block)];
  return blocks.flatMap((block): ReferenceSection[] => {
    const path = block?.path ?? [];
    const own = keys.filter((key) => !key.block && isChild(path, key.path));
    if (block === undefined && own.length === 0) return [];
    const heading = block === undefined ? "Keys of the file itself" : code(path.join("."));
    const text = block === undefined ? [] : [anchor(path), ...blockText(block, prefix)];
    return [
      { heading, text: own.length === 0 ? text : [...text, keyTable(own, path.length, prefix)] },
    ];
  });
}

/** Makes a key's row or block the target of `PAGE.md#ADDRESS`. */
const anchor = (path: readonly string[]): string => `<a id="${keyAddress(path)}"></a>`;

/**
 * The address of a key on its page, as in `stack-file.md#machines.instanceA.port`: its path without
 * the names that people choose, but for one that stands last.
 */
function keyAddress(path: readonly string[]): string {
  const parts = path.filter((part, at) => at === path.length - 1 || !/^<.*>$/.test(part));
  return parts.map((part) => part.replaceAll(/\[\]|[<>]/g, "")).join(".");
}

/** Keys of records in a list are listed with the block that holds the list. */
function isChild(block: readonly string[], key: readonly string[]): boolean {
  const plain = key.filter((part, place) => place === key.length - 1 || !part.endsWith("[]"));
  return plain.length === block.length + 1 && block.every((part, place) => part === plain[place]);
}

function blockText({ schema, required }: SchemaKey, prefix: string): string[] {
  const forms = (schema.anyOf ?? schema.oneOf ?? [])
    .map(typeText)
    .filter((form) => form !== "block");
  const text = sentences(
    descriptionOf(schema),
    schema.ours && OURS_MARK,
    forms.length > 0 && `Instead of the block it may be ${forms.join(" or ")}.`,
    required && "The block is required.",
    schema.variable && `Variables: ${code(`${prefix}${schema.variable}`)}.`,
    schema.default !== undefined && `Default: ${code(schema.default)}.`,
    examplesText(schema),
  );
  return text === "" ? [] : [text];
}

/** The sentences that there are. */
const sentences = (...texts: readonly (string | false | undefined)[]): string =>
  texts.filter(Boolean).join(" ");

/** Keys are shown relative to their block, whose whole path is the heading. */
function keyTable(keys: readonly SchemaKey[], depth: number, prefix: string): string {
  const columns: { head: string; cell: (key: SchemaKey) => string }[] = [
    { head: "Key", cell: ({ path }) => `${anchor(path)}${code(path.slice(depth).join("."))}` },
    { head: "Type", cell: ({ schema }) => typeText(schema) },
    {
      head: "Default",
      cell: ({ schema, required }) => (required ? "**required**" : defaultText(schema)),
    },
    {
      head: "Variable",
      cell: ({ schema }) => (schema.variable ? code(`${prefix}${schema.variable}`) : ""),
    },
    { head: "Meaning", cell: ({ schema }) => meaning(schema) },
  ];
  // An empty column says nothing.
  const filled = columns.filter(({ cell }) => keys.some((key) => cell(key) !== ""));
  const heads = filled.map(({ head }) => head);
  return renderTable(
    heads,
    keys.map((key) => filled.map(({ cell }) => cell(key))),
  );
}

const defaultText = (schema: JsonSchema): string =>
  schema.default === undefined ? "" : code(schema.default);

function meaning(schema: JsonSchema): string {
  const secret = schema.secret && "A secret: it is never shown.";
  return sentences(descriptionOf(schema), schema.ours && OURS_MARK, secret, examplesText(schema));
}

function examplesText({ examples = [] }: JsonSchema): string {
  if (examples.length === 0) return "";
  return `${examples.length === 1 ? "Example" : "Examples"}: ${examples.map(code).join(", ")}`;
}

const cell = (text: string): string => text.replace(/\s*\n\s*/g, " ").replaceAll("|", "\\|");

/** What a key takes, in words: `whole number from 1 to 65535 (seconds)`. */
export function typeText(schema: JsonSchema): string {
  const words = plainType(schema);
  return schema.unit === undefined ? words : `${words} (${schema.unit})`;
}

function plainType(schema: JsonSchema): string {
  const named = schema.$ref?.split("/").at(-1);
  if (named !== undefined) return `[${named}](#${named.toLowerCase()})`;
  const options = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (options !== undefined) return alternatives([...new Set(options.map(plainType))]);
  if (schema.const !== undefined) return schema.const === "" ? "empty" : code(schema.const);
  if (schema.enum !== undefined) return alternatives(schema.enum.map(code));
  switch (schema.type) {
    case "integer":
      return `whole number${range(schema)}`;
    case "number":
      return `number${range(schema)}`;
    case "boolean":
      return "`true` or `false`";
    case "string":
      return schema.format === "date" ? "date (`YYYY-MM-DD`)" : "text";
    case "array":
      if (Array.isArray(schema.items)) return code(schema.items.map(({ const: item }) => item));
      return `list of ${plural(schema.items)}${schema.minItems ? `, at least ${schema.minItems}` : ""}`;
    case "object":
      return "block";
    case "null":
      return "`null`";
    default:
      return "any value";
  }
}

function plural(items: JsonSchema | undefined): string {
  const type = items === undefined ? "any value" : plainType(items);
  if (type === "text") return "texts";
  if (type === "block") return "blocks";
  return type === "any value" ? "values" : type;
}

function range(schema: JsonSchema): string {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  const bounds = {
    "at least": minimum,
    above: exclusiveMinimum,
    "at most": maximum,
    below: exclusiveMaximum,
  };
  return Object.entries(bounds)
    .flatMap(([words, bound]) => (bound === undefined ? [] : `, ${words} ${bound}`))
    .join("");
}

function alternatives(options: readonly string[]): string {
  if (options.length < 2) return options.join("");
  return `${options.slice(0, -1).join(", ")} or ${options.at(-1)}`;
}

/** A value as code in Markdown; a backtick in it needs a longer fence. */
function code(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (text === "") return "empty";
  return text.includes("`") ? `\`\` ${text} \`\`` : `\`${text}\``;
}
