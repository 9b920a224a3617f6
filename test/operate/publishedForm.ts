import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { Ajv, type ValidateFunction } from "ajv";
import { isRecord } from "../../faults/json";

/** By its whole path: a test may change the working folder. */
const SCHEMA = resolve("docs/reference/command-output.schema.json");

/** The same schema without room for keys that it doesn't name. */
function closed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closed);
  if (!isRecord(node)) return node;
  const below = Object.entries(node).map(([key, value]) => [key, closed(value)]);
  const isClosed = isRecord(node.properties) && node.additionalProperties === undefined;
  return { ...Object.fromEntries(below), ...(isClosed && { additionalProperties: false }) };
}

let published: { readonly ajv: Ajv; readonly names: readonly string[] } | undefined;

function readPublished() {
  const schema: unknown = JSON.parse(readFileSync(SCHEMA, "utf8"));
  if (!isRecord(schema) || !isRecord(schema.definitions)) throw new Error(`${SCHEMA} is none`);
  // Alone, a definition is compiled ten times faster than with all others.
  const schemas = { all: { definitions: closed(schema.definitions) } };
  const ajv = new Ajv({ strict: false, validateSchema: false, allErrors: true, schemas });
  return { ajv, names: Object.keys(schema.definitions) };
}

/** The commands and the types that the published schema describes. */
export function publishedNames(): readonly string[] {
  published ??= readPublished();
  return published.names;
}

function formOf(args: readonly string[]): ValidateFunction | undefined {
  const names = publishedNames();
  const words = [args.slice(0, 2).join(" "), args[0] ?? ""];
  const name = words.find((each) => names.includes(each));
  return name === undefined
    ? undefined
    : published?.ajv.getSchema(`all#/definitions/${encodeURI(name)}`);
}

/**
 * What is wrong with a document that a command printed, by the published schema and as if that
 * left no room for further keys; none where the command has no form of its own (`plan`).
 */
export function faultsOfForm(args: readonly string[], document: string): string[] {
  const form = formOf(args);
  if (form === undefined || form(JSON.parse(document))) return [];
  return (form.errors ?? []).map(({ instancePath, message, params }) =>
    `${instancePath} ${message} ${JSON.stringify(params)}`.trim(),
  );
}
