import type { JsonSchema } from "../schema/jsonSchema";

/** What a key takes, in words: `whole number from 1 to 65535 (seconds)`. */
export function typeText(schema: JsonSchema): string {
  if (schema.refused !== undefined) return "refused";
  const words = plainType(schema);
  return schema.unit === undefined ? words : `${words} (${schema.unit})`;
}

function plainType(schema: JsonSchema): string {
  const options = schema.anyOf ?? schema.oneOf;
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
  const bounds = [
    minimum === undefined ? undefined : `at least ${minimum}`,
    exclusiveMinimum === undefined ? undefined : `above ${exclusiveMinimum}`,
    maximum === undefined ? undefined : `at most ${maximum}`,
    exclusiveMaximum === undefined ? undefined : `below ${exclusiveMaximum}`,
  ].filter((bound) => bound !== undefined);
  return bounds.length === 0 ? "" : `, ${bounds.join(", ")}`;
}

function alternatives(options: readonly string[]): string {
  if (options.length < 2) return options.join("");
  return `${options.slice(0, -1).join(", ")} or ${options.at(-1)}`;
}

/** A value as code in Markdown; a backtick in it needs a longer fence. */
export function code(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (text === "") return "empty";
  return text.includes("`") ? `\`\` ${text} \`\`` : `\`${text}\``;
}
