import { join, resolve } from "node:path";
import { generateSchema, programFromConfig } from "typescript-json-schema";
import { EXIT, explainFailure } from "../../commandLine/exit";
import { OUTPUT_VERSION, say } from "../../commandLine/output";
import { replaceFile } from "../../commandLine/replaceFile";
import { isRecord } from "../../faults/json";
import { staleFiles } from "../../harness/reference/render";
import type { JsonSchema } from "../../harness/schema/jsonSchema";
import { REFUSED } from "../reference/keysOfParts";

const PROJECT = resolve(__dirname, "../..");
const NAME = "command-output.schema.json";

/** A definition that has a name of its own: those of types without one are their whole text. */
const NAMED = /^[A-Za-z]\w*$/;
const REFERENCE = "#/definitions/";

type Definitions = Readonly<Record<string, JsonSchema>>;

/** The published schema: a definition for each command, and for each type that its output holds. */
export function commandOutputs(): string {
  const program = programFromConfig(join(PROJECT, "tsconfig.json"), [
    join(PROJECT, "operate/commands/outputs.ts"),
  ]);
  const made: unknown = generateSchema(program, "OutputForms", { required: true, ref: true });
  if (!isRecord(made)) throw new Error("operate/commands/outputs.ts has no type OutputForms.");
  // It is a JSON Schema of draft 7, whose keywords our type lists.
  const { definitions = {} } = made as JsonSchema;
  const { properties = {} } = definitions.CommandOutputs ?? {};
  const own = inlined({ definitions, properties }, definitions);
  const commands = Object.entries(own.properties ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const outputs = Object.fromEntries(
    commands.map(([name, schema]) => [name, orRefused(versioned(schema, own.definitions ?? {}))]),
  );
  const schema = {
    $schema: "http://json-schema.org/draft-07/schema#",
    $comment: "Made by `npm run outputs` from operate/commands/outputs.ts. Edits here are lost.",
    title: "Output of commands",
    description: "What a command prints with `--format json`: the definition of its name.",
    anyOf: commands.map(([name]) => ({ $ref: `${REFERENCE}${encodeURI(name)}` })),
    definitions: { ...outputs, ...reached(Object.values(outputs), own.definitions ?? {}) },
  };
  return `${JSON.stringify(ordered(schema), null, 2)}\n`;
}

/** Lists whose order says nothing. */
const SETS = new Set(["anyOf", "enum", "required"]);

/** The same schema in one order: the compiler's own changes with what is imported elsewhere. */
function ordered(value: unknown, key = ""): unknown {
  if (Array.isArray(value)) {
    const items = value.map((each) => ordered(each));
    return SETS.has(key) ? items.sort(byText) : items;
  }
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).map(([name, each]) => [name, ordered(each, name)] as const);
  return Object.fromEntries(
    key === "properties" ? entries.sort(([a], [b]) => byText(a, b)) : entries,
  );
}

const byText = (a: unknown, b: unknown): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);

/** Puts definitions without a name of their own where they are referred to. */
function inlined(node: JsonSchema, definitions: Definitions): JsonSchema {
  const name = nameIn(node);
  if (name !== undefined && !NAMED.test(name)) {
    const { $ref: _, ...more } = node;
    return inlined({ ...definitions[name], ...more }, definitions);
  }
  const below = Object.entries(node)
    .filter(([key]) => key !== "definitions" || NAMED.test(key))
    .map(([key, value]) => [key, inside(value, (each) => inlined(each, definitions))]);
  return withOneType(joined(Object.fromEntries(below), definitions));
}

/** A block with several types as one of several blocks, as our other schemas have it. */
function withOneType(node: JsonSchema): JsonSchema {
  const { type, ...rest } = node;
  if (!Array.isArray(type)) return node;
  const { enum: choices, ...more } = rest;
  if (choices !== undefined) return rest;
  return { ...more, anyOf: type.map((each) => ({ type: each })) };
}

/** What holds the keys of several types, as one block with all of them. */
function joined({ allOf, ...node }: JsonSchema, definitions: Definitions): JsonSchema {
  if (allOf === undefined) return node;
  const parts = allOf.map((part) => inlined(definitions[nameIn(part) ?? ""] ?? part, definitions));
  return {
    ...node,
    type: "object",
    properties: Object.assign({}, ...parts.map((part) => part.properties)),
    required: [...new Set(parts.flatMap((part) => part.required ?? []))],
  };
}

function inside(value: unknown, change: (node: JsonSchema) => JsonSchema): unknown {
  if (Array.isArray(value)) return value.map((each) => inside(each, change));
  return isRecord(value) ? change(value) : value;
}

const nameIn = ({ $ref }: JsonSchema): string | undefined =>
  $ref === undefined ? undefined : decodeURIComponent($ref.replace(REFERENCE, ""));

/** A command's output, or what it prints without a result. */
const orRefused = (schema: JsonSchema): JsonSchema => ({
  ...(schema.anyOf === undefined ? {} : schema),
  anyOf: [...(schema.anyOf ?? [schema]), { $ref: REFUSED }],
});

/** An output with its version, which every command's has. */
function versioned(schema: JsonSchema, definitions: Definitions): JsonSchema {
  const name = nameIn(schema);
  if (name !== undefined) return versioned(definitions[name] ?? {}, definitions);
  if (schema.anyOf !== undefined)
    return { ...schema, anyOf: schema.anyOf.map((each) => versioned(each, definitions)) };
  const { properties = {}, required = [], ...rest } = schema;
  const version = { const: OUTPUT_VERSION, description: "Version of this form." };
  return { ...rest, required: ["version", ...required], properties: { version, ...properties } };
}

/** The definitions that something refers to, by name. */
function reached(from: readonly unknown[], definitions: Definitions): Definitions {
  const found = new Set<string>();
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit);
    if (!isRecord(value)) return;
    const name = nameIn(value);
    if (name !== undefined && !found.has(name)) {
      found.add(name);
      visit(definitions[name]);
    }
    Object.values(value).forEach(visit);
  };
  visit(from);
  const names = [...found].sort();
  return Object.fromEntries(names.map((name) => [name, definitions[name] ?? {}]));
}

/** `npm run outputs`; with `--check` nothing is written, and a stale file ends with 1. */
function main(args: readonly string[]): number {
  try {
    const folder = join(PROJECT, "docs/reference");
    const stale = staleFiles(folder, [{ name: NAME, text: commandOutputs() }]);
    const check = args.includes("--check");
    for (const { name, text } of stale) {
      if (!check) replaceFile(join(folder, name), text, { newFileMode: 0o644 });
      say(check ? `docs/reference/${name} is stale: npm run outputs` : `wrote ${name}`);
    }
    return check && stale.length > 0 ? EXIT.faults : EXIT.fine;
  } catch (error) {
    return explainFailure(error, "outputs");
  }
}

if (require.main === module) process.exitCode = main(process.argv.slice(2));
