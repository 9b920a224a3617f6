import { type JsonSchema, jsonSchemaOf } from "../schema/jsonSchema";
import { descriptionOf, type SchemaKey, schemaKeys } from "../schema/schemaKeys";
import { REFERENCE_COMMAND, type ReferenceDocument, type ReferenceSection } from "./document";
import { code, typeText } from "./typeText";

/** Marks a description that is ours because the specification has none; the page's introduction says so. */
export const OURS_MARK = "†";

/** A page as Markdown: its introduction, its keys block by block, its further sections. */
export function renderMarkdown(document: ReferenceDocument): string {
  const keys = document.schema === undefined ? [] : keySections(document.schema, document.prefix ?? "");
  const made = `<!-- Made by \`${REFERENCE_COMMAND}\` from ${document.madeFrom}. Edits here are lost. -->`;
  const parts = [
    made,
    `# ${document.title}`,
    ...document.intro,
    ...[...keys, ...(document.sections ?? [])].flatMap(renderSection),
  ];
  return `${parts.join("\n\n")}\n`;
}

/** A Markdown table; bars and line ends in cells do no harm. */
export function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(" | ")} |`;
  return [line(head), `|${head.map(() => " --- ").join("|")}|`, ...rows.map(line)].join("\n");
}

function renderSection({ heading, text = [], table }: ReferenceSection): string[] {
  return [`## ${heading}`, ...text, ...(table === undefined ? [] : [renderTable(table.head, table.rows)])];
}

function keySections(schema: NonNullable<ReferenceDocument["schema"]>, prefix: string): ReferenceSection[] {
  const keys = schemaKeys(jsonSchemaOf(schema));
  const blocks: (SchemaKey | undefined)[] = [undefined, ...keys.filter(({ block }) => block)];
  return blocks.flatMap((block): ReferenceSection[] => {
    const path = block?.path ?? [];
    const own = keys.filter((key) => !key.block && isChild(path, key.path));
    if (block === undefined && own.length === 0) return [];
    return [
      {
        heading: block === undefined ? "Keys of the file itself" : code(path.join(".")),
        text: block === undefined ? [] : blockText(block, prefix),
        ...(own.length === 0 ? {} : { table: keyTable(own, path.length, prefix) }),
      },
    ];
  });
}

/** Keys of records in a list are listed with the block that holds the list. */
function isChild(block: readonly string[], key: readonly string[]): boolean {
  const plain = key.filter((part, place) => place === key.length - 1 || !part.endsWith("[]"));
  return plain.length === block.length + 1 && block.every((part, place) => part === plain[place]);
}

function blockText({ schema, required }: SchemaKey, prefix: string): string[] {
  const forms = (schema.anyOf ?? schema.oneOf ?? []).map(typeText).filter((form) => form !== "block");
  const notes = [
    forms.length === 0 ? undefined : `Instead of the block it may be ${forms.join(" or ")}.`,
    required ? "The block is required." : undefined,
    schema.variable === undefined ? undefined : `Variables: ${code(`${prefix}${schema.variable}`)}.`,
    defaultText(schema) === undefined ? undefined : `Default: ${defaultText(schema)}.`,
    schema.examples === undefined ? undefined : examplesText(schema.examples),
  ].filter((note) => note !== undefined);
  return [[descriptionOf(schema), ...oursMark(schema), ...notes].join(" ").trim()].filter(
    (text) => text !== "",
  );
}

/** Keys are shown relative to their block, whose whole path is the heading. */
function keyTable(
  keys: readonly SchemaKey[],
  depth: number,
  prefix: string,
): NonNullable<ReferenceSection["table"]> {
  const columns: { head: string; cell: (key: SchemaKey) => string }[] = [
    { head: "Key", cell: ({ path }) => code(path.slice(depth).join(".")) },
    { head: "Type", cell: ({ schema }) => typeText(schema) },
    { head: "Default", cell: (key) => (key.required ? "**required**" : (defaultText(key.schema) ?? "")) },
    { head: "Variable", cell: ({ schema }) => (schema.variable ? code(`${prefix}${schema.variable}`) : "") },
    { head: "Meaning", cell: ({ schema }) => meaning(schema) },
  ];
  // An empty column says nothing.
  const filled = columns.filter(({ cell }) => keys.some((key) => cell(key) !== ""));
  return {
    head: filled.map(({ head }) => head),
    rows: keys.map((key) => filled.map(({ cell }) => cell(key))),
  };
}

function defaultText(schema: JsonSchema): string | undefined {
  return schema.default === undefined ? undefined : code(schema.default);
}

function meaning(schema: JsonSchema): string {
  const { examples = [], refused, secret } = schema;
  return [
    refused === undefined ? "" : `Refused: ${refused}`,
    descriptionOf(schema),
    ...oursMark(schema),
    secret === true ? "A secret: it is never shown." : "",
    examples.length === 0 ? "" : examplesText(examples),
  ]
    .filter((part) => part !== "")
    .join(" ");
}

function examplesText(examples: readonly unknown[]): string {
  return `${examples.length === 1 ? "Example" : "Examples"}: ${examples.map(code).join(", ")}`;
}

function oursMark(schema: JsonSchema): string[] {
  return schema.ours === true ? [OURS_MARK] : [];
}

function cell(text: string): string {
  return text.replace(/\s*\n\s*/g, " ").replaceAll("|", "\\|");
}
