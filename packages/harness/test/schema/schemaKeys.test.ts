import { describe, expect, it } from "vitest";
import * as z from "zod";
import { jsonSchemaOf, openSchema, publishedSchema, schemaKeys } from "../../schema/jsonSchema";

const schema = z.strictObject({
  port: z
    .int()
    .min(1)
    .default(80)
    .describe("TCP port.")
    .meta({ unit: "number", variable: "PORT", examples: [8080] }),
  machines: z
    .record(
      z.string(),
      z.strictObject({ total: z.number().describe("Total.") }).describe("A machine."),
    )
    .default({})
    .describe("Machines.")
    .meta({ placeholder: "machine" }),
  rules: z.array(z.strictObject({ id: z.string().describe("Id.") })).optional(),
  either: z
    .union([z.literal("none"), z.strictObject({ a: z.string(), b: z.string().optional() })])
    .optional(),
});

describe("the keys of a schema", () => {
  it("are all of them, in order, through maps, lists and choices", () => {
    expect(
      schemaKeys(jsonSchemaOf(schema)).map(({ path, required, block }) => [
        path.join("."),
        required,
        block,
      ]),
    ).toEqual([
      ["port", false, false],
      ["machines", false, true],
      ["machines.<machine>", false, true],
      ["machines.<machine>.total", true, false],
      ["rules", false, false],
      ["rules[].id", true, false],
      ["either", false, true],
      ["either.a", true, false],
      ["either.b", false, false],
    ]);
  });

  it("carry their notes", () => {
    const [port] = schemaKeys(jsonSchemaOf(schema));
    expect(port?.schema).toEqual({
      type: "integer",
      minimum: 1,
      default: 80,
      description: "TCP port.",
      unit: "number",
      variable: "PORT",
      examples: [8080],
    });
  });
});

describe("a published JSON Schema", () => {
  const published = publishedSchema(jsonSchemaOf(schema), "HX_");

  it("turns notes into words and holds no keyword that validators do not know", () => {
    expect(published.properties?.port).toEqual({
      type: "integer",
      minimum: 1,
      default: 80,
      description: "TCP port. Unit: number. Environment variable: HX_PORT.",
      examples: [8080],
    });
    expect(JSON.stringify(published)).not.toMatch(/"(unit|variable|secret|placeholder)":/);
  });

  it("is closed as the schema is, or open throughout", () => {
    expect(JSON.stringify(published)).toContain('"additionalProperties":false');
    expect(JSON.stringify(openSchema(published))).not.toContain('"additionalProperties":false');
    expect(openSchema(published).properties?.machines?.additionalProperties).toMatchObject({
      type: "object",
    });
  });
});
