import { defined } from "../../faults/defined";
import type { JsonSchema } from "./jsonSchema";

export interface SchemaKey {
  /** The parts of the key's path; a map's free key is written `<name>`. */
  readonly path: readonly string[];
  readonly schema: JsonSchema;
  readonly required: boolean;
  /** The key holds further keys, which follow it in the list. */
  readonly block: boolean;
}

/** Every key of a schema in the order in which it is written, blocks before what is in them. */
export function schemaKeys(root: JsonSchema): SchemaKey[] {
  const keys = new Map<string, SchemaKey>();
  collect(root, [], keys);
  return [...keys.values()];
}

function collect(node: JsonSchema, path: readonly string[], keys: Map<string, SchemaKey>): void {
  for (const option of [...(node.anyOf ?? []), ...(node.oneOf ?? []), ...(node.allOf ?? [])])
    collect(option, path, keys);
  for (const [name, child] of Object.entries(node.properties ?? {}))
    add(child, [...path, name], node.required?.includes(name) ?? false, keys);
  if (typeof node.additionalProperties === "object" && Object.keys(node.additionalProperties).length > 0)
    add(node.additionalProperties, [...path, `<${node.placeholder ?? "name"}>`], false, keys);
  for (const item of [node.items ?? []].flat())
    collect(item, [...path.slice(0, -1), `${path.at(-1) ?? ""}[]`], keys);
}

function add(
  schema: JsonSchema,
  path: readonly string[],
  required: boolean,
  keys: Map<string, SchemaKey>,
): void {
  const name = path.join(".");
  const known = keys.get(name);
  const key = { path, schema, required, block: isBlock(schema) };
  keys.set(name, known === undefined ? key : { ...known, schema: joined(known.schema, schema) });
  collect(schema, path, keys);
}

/** Options of a union may share a key: it takes what any of them takes, and is described as in the first. */
function joined(first: JsonSchema, second: JsonSchema): JsonSchema {
  const { description, default: fallback, examples, ...form } = first;
  const { description: _, default: __, examples: ___, ...other } = second;
  const forms = form.anyOf ?? [form];
  if (forms.some((each) => JSON.stringify(each) === JSON.stringify(other))) return first;
  return {
    ...defined({ description, default: fallback, examples }),
    anyOf: [...forms, other],
  };
}

function isBlock(node: JsonSchema): boolean {
  if (node.properties !== undefined) return true;
  if (typeof node.additionalProperties === "object" && Object.keys(node.additionalProperties).length > 0)
    return true;
  return [...(node.anyOf ?? []), ...(node.oneOf ?? []), ...(node.allOf ?? [])].some(isBlock);
}

/** What a schema says of a key: its own description, else the first that one of its forms has. */
export function descriptionOf(node: JsonSchema): string {
  if (node.description !== undefined) return node.description;
  return [...(node.anyOf ?? []), ...(node.oneOf ?? [])].map(descriptionOf).find((text) => text !== "") ?? "";
}
