import { z } from "zod";
import type { KeyNotes } from "./key";

/** A JSON Schema of what a person writes, with our notes still on its keys. */
export interface JsonSchema extends KeyNotes {
  $schema?: string;
  $ref?: string;
  $comment?: string;
  title?: string;
  description?: string;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  default?: unknown;
  examples?: unknown[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  propertyNames?: JsonSchema;
  /** One schema for every item, or one for each place of a list of fixed length. */
  items?: JsonSchema | JsonSchema[];
  additionalItems?: boolean;
  minItems?: number;
  maxItems?: number;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
  not?: JsonSchema;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  format?: string;
}

/** The JSON Schema of a zod schema's input, draft 7, the draft that most editors read. */
export function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  const made = z.toJSONSchema(schema, { io: "input", target: "draft-7", unrepresentable: "any" });
  // The shapes are the same; zod's own type lists every keyword of every draft.
  return tidy(made as JsonSchema);
}

/** Takes away what says nothing: the bounds of safe integers, the type of JSON keys, `{}` as a block's default. */
function tidy(node: JsonSchema): JsonSchema {
  const result = mapChildren(node, tidy);
  if (result.minimum === Number.MIN_SAFE_INTEGER) delete result.minimum;
  if (result.maximum === Number.MAX_SAFE_INTEGER) delete result.maximum;
  if (JSON.stringify(result.propertyNames) === '{"type":"string"}') delete result.propertyNames;
  const holdsKeys = result.properties !== undefined || result.additionalProperties !== undefined;
  if (holdsKeys && JSON.stringify(result.default) === "{}") delete result.default;
  return result;
}

/** What is published for editors: notes become words, and our own keywords go. */
export function publishedSchema(node: JsonSchema, prefix: string): JsonSchema {
  const result = mapChildren(node, (child) => publishedSchema(child, prefix));
  const words = [
    node.description,
    node.unit === undefined ? undefined : `Unit: ${node.unit}.`,
    node.variable === undefined ? undefined : `Environment variable: ${prefix}${node.variable}.`,
    node.refused === undefined ? undefined : `Refused: ${node.refused}`,
  ].filter((text) => text !== undefined);
  if (words.length > 0) result.description = words.join(" ");
  for (const note of KEY_NOTES) delete result[note];
  return result;
}

/** Lets keys through that the schema does not know, for documents in which they are only worth a warning. */
export function openSchema(node: JsonSchema): JsonSchema {
  const result = mapChildren(node, openSchema);
  if (result.additionalProperties === false) delete result.additionalProperties;
  return result;
}

function mapChildren(node: JsonSchema, change: (child: JsonSchema) => JsonSchema): JsonSchema {
  const result: JsonSchema = { ...node };
  if (node.properties !== undefined)
    result.properties = Object.fromEntries(
      Object.entries(node.properties).map(([key, child]) => [key, change(child)]),
    );
  if (typeof node.additionalProperties === "object")
    result.additionalProperties = change(node.additionalProperties);
  if (node.items !== undefined)
    result.items = Array.isArray(node.items) ? node.items.map(change) : change(node.items);
  for (const part of ["not", "propertyNames"] as const) {
    const child = node[part];
    if (child !== undefined) result[part] = change(child);
  }
  for (const part of ["anyOf", "oneOf", "allOf"] as const) {
    const children = node[part];
    if (children !== undefined) result[part] = children.map(change);
  }
  return result;
}

/** The names of the notes, which no published JSON Schema may hold since validators refuse unknown keywords. */
const KEY_NOTES: readonly (keyof KeyNotes)[] = [
  "unit",
  "variable",
  "secret",
  "refused",
  "ours",
  "placeholder",
];
