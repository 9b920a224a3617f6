import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { parse } from "smol-toml";
import { describe, expect, it } from "vitest";
import { parse as parseYaml } from "yaml";
import { z } from "zod";
import { analyticsKeys, concrete } from "../../../harness/analytics/keys";
import { setKey } from "../../../harness/analytics/setKey";
import { providerSchema } from "../../../harness/providers/schema";
import type { ReferenceDocument } from "../../../harness/reference/document";
import { renderJsonSchema, renderReference } from "../../../harness/reference/render";
import { staleFiles } from "../../../harness/reference/stale";
import { jsonSchemaOf } from "../../../harness/schema/jsonSchema";
import { descriptionOf, schemaKeys } from "../../../harness/schema/schemaKeys";
import { referenceDocuments } from "../../../operate/reference/documents";

const withSchema = referenceDocuments().flatMap((document) =>
  document.schema === undefined ? [] : [{ name: document.name, document, schema: document.schema }],
);

function named(name: string): { published: z.ZodType; schema: z.ZodType } {
  const found = withSchema.find((each) => each.name === name);
  if (found === undefined) throw new Error(`no document ${name}`);
  return { published: published(found.document), schema: found.schema };
}

/** The published JSON Schema as a validator; zod's own reader of JSON Schema stands for an editor. */
function published(document: ReferenceDocument): z.ZodType {
  return z.fromJSONSchema(JSON.parse(renderJsonSchema(document)));
}

/** What the check refuses; keys that the schema does not know are warnings there. */
function refuses(schema: z.ZodType, value: unknown): boolean {
  const read = schema.safeParse(value);
  return !read.success && read.error.issues.some(({ code }) => code !== "unrecognized_keys");
}

describe("docs/reference", () => {
  const folder = join(__dirname, "../../../docs/reference");

  it("is what the schemas make of it", () => {
    expect(staleFiles(folder, renderReference(referenceDocuments())).map(({ name }) => name)).toEqual([]);
  });

  it.each(withSchema)("names every key of $name on its page", ({ name, schema }) => {
    const page = readFileSync(join(folder, `${name}.md`), "utf8");
    for (const { path, block } of schemaKeys(jsonSchemaOf(schema))) {
      const shown = block ? `## \`${path.join(".")}\`` : `${path.at(-1)}\` |`;
      expect(page, path.join(".")).toContain(shown);
    }
  });

  it.each(withSchema)("describes every key of $name", ({ schema }) => {
    const bare = schemaKeys(jsonSchemaOf(schema)).filter(
      ({ schema: node }) => descriptionOf(node).length < 15,
    );
    expect(bare.map(({ path }) => path.join("."))).toEqual([]);
  });
});

describe("the JSON Schema of the stack file", () => {
  const { published: editor } = named("stack-file");
  const stackFile = () => parseYaml(readFileSync(join(__dirname, "../../../Pulumi.dgx.yaml"), "utf8"));

  it("takes the project's own stack file as a whole", () => {
    expect(editor.safeParse(stackFile()).error).toBeUndefined();
  });

  it.each([
    ["an unknown key", { totalGib: 1 }],
    ["text for a number", { totalGiB: "121.63" }],
    ["a missing key", { totalGiB: undefined }],
  ])("refuses %s", (_, change) => {
    const file = stackFile();
    const machines = file.config["local-serving:machines"];
    Object.assign(machines.dgx, change);
    expect(editor.safeParse(JSON.parse(JSON.stringify(file))).success).toBe(false);
  });
});

describe("the JSON Schema of the session analytics", () => {
  const { published: editor, schema } = named("session-analytics");
  const read = (file: string) =>
    JSON.parse(readFileSync(join(__dirname, "../analytics/fixtures", file), "utf8"));

  it.each([
    ["good.json", true],
    ["wrong.json", false],
  ])("judges %s as the check does", (file, good) => {
    expect(editor.safeParse(read(file)).success).toBe(good);
    expect(refuses(schema, read(file))).toBe(!good);
  });

  it("agrees with the check on any value of any key", () => {
    const value = fc.oneof(
      fc.string(),
      fc.double({ noNaN: true }),
      fc.integer(),
      fc.boolean(),
      fc.array(fc.string()),
      fc.constantFrom("", null, 0, 1, -1, "USD", "2026-05-01", "2026-02-30", "http://h"),
    );
    fc.assert(
      fc.property(fc.constantFrom(...analyticsKeys()), value, (pattern, given) => {
        const key = concrete(pattern, "some-id");
        const document = key.path.reduceRight<unknown>((inner, step) => ({ [step]: inner }), given);
        expect(editor.safeParse(document).success).toBe(!refuses(schema, document));
      }),
      { numRuns: 600 },
    );
  });

  it("lets through what the check only warns of", () => {
    expect(editor.safeParse({ colour: 1, judge: { colour: 2 } }).success).toBe(true);
  });

  it("takes whatever `config set` writes", () => {
    const result = setKey({}, "team.budgets.team_daily_usd", "12.5", "HX_");
    expect("document" in result && editor.safeParse(result.document).success).toBe(true);
  });
});

describe("the JSON Schema of the providers profile", () => {
  const { published: editor, schema } = named("providers-profile");
  const read = (file: string) => parse(readFileSync(join(__dirname, "../providers/fixtures", file), "utf8"));

  it.each([
    ["good.toml", true],
    ["wrong.toml", false],
  ])("judges %s as the check does", (file, good) => {
    expect(editor.safeParse(plain(read(file))).success).toBe(good);
    expect(refuses(schema, plain(read(file)))).toBe(!good);
  });

  it("agrees with the check on any value of any key but a command's placeholder, which no JSON Schema states", () => {
    const keys = Object.keys(providerSchema.shape).filter((key) => key !== "conformance_command");
    const value = fc.oneof(
      fc.string(),
      fc.double({ noNaN: true }),
      fc.integer(),
      fc.boolean(),
      fc.constantFrom("cli", "http://h/v1", "http://h/v1/", "KEY", "h:1", 0, 1, true),
    );
    fc.assert(
      fc.property(fc.constantFrom(...keys), value, (key, given) => {
        const document = { providers: { p: { type: "cli", [key]: given } } };
        expect(editor.safeParse(document).success).toBe(!refuses(schema, document));
      }),
      { numRuns: 600 },
    );
  });
});

/** smol-toml makes objects without a prototype. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
