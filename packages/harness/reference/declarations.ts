import type { JsonSchema } from "../schema/jsonSchema";

/** A JSON Schema of a block as an interface of TypeScript, for programs that write one. */
export const interfaceOf = (name: string, description: string, block: JsonSchema): string =>
  `${comment(description, "")}export interface ${name} ${typeOf(block, "")}\n`;

/** A comment that ends itself would end the declaration too. */
const comment = (text: string, indent: string): string =>
  `${indent}/** ${text.replaceAll("*/", "* /").replaceAll("\n", " ")} */\n`;

function typeOf(schema: JsonSchema, indent: string): string {
  const options = schema.anyOf ?? schema.oneOf;
  if (options !== undefined)
    return [...new Set(options.map((each) => typeOf(each, indent)))].join(" | ");
  // All of them are of one type, and differ in what else they ask for.
  if (schema.allOf !== undefined) return typeOf(schema.allOf[0] ?? {}, indent);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((each) => JSON.stringify(each)).join(" | ");
  switch (schema.type) {
    case "integer":
      return "number";
    case "number":
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "array": {
      const items = Array.isArray(schema.items) ? schema.items : [schema.items ?? {}];
      return `ReadonlyArray<${[...new Set(items.map((each) => typeOf(each, indent)))].join(" | ")}>`;
    }
    case "object":
      return blockType(schema, indent);
    default:
      return "unknown";
  }
}

function blockType(schema: JsonSchema, indent: string): string {
  const { properties, additionalProperties, required = [] } = schema;
  if (properties === undefined)
    return typeof additionalProperties === "object"
      ? `{ readonly [key: string]: ${typeOf(additionalProperties, indent)} }`
      : "{ readonly [key: string]: unknown }";
  const inner = `${indent}  `;
  const keys = Object.entries(properties).map(([key, each]) => {
    const mark = required.includes(key) ? "" : "?";
    const name = /^[A-Za-z_]\w*$/.test(key) ? key : JSON.stringify(key);
    return `${meaningOf(each, inner)}${inner}readonly ${name}${mark}: ${typeOf(each, inner)};\n`;
  });
  return `{\n${keys.join("")}${indent}}`;
}

function meaningOf(schema: JsonSchema, indent: string): string {
  const parts = [
    schema.description,
    schema.default !== undefined && `Default: \`${JSON.stringify(schema.default)}\`.`,
  ];
  const text = parts.filter(Boolean).join(" ");
  return text === "" ? "" : comment(text, indent);
}
