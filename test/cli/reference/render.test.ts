import {
  type ReferenceDocument,
  renderReference,
  renderTable,
} from "@local-serving/harness/reference/render";
import { describe, expect, it } from "vitest";
import * as z from "zod";

const document: ReferenceDocument = {
  name: "thing",
  title: "Thing",
  madeFrom: "harness/thing/schema.ts",
  intro: ["What it is."],
  prefix: "HX_",
  schema: z.strictObject({
    port: z
      .int()
      .min(1)
      .max(9)
      .default(8)
      .describe("A port | or not.\nReally.")
      .meta({ variable: "PORT" }),
    mode: z.enum(["a", "b", "c"]).describe("How."),
    inner: z
      .strictObject({
        share: z
          .number()
          .min(0)
          .max(1)
          .optional()
          .describe("Part.")
          .meta({ unit: "USD", examples: [0.5] }),
      })
      .prefault({})
      .describe("A block."),
  }),
  sections: [{ heading: "More", text: ["Words.", renderTable(["A"], [["1"]])] }],
};
const list: ReferenceDocument = {
  name: "list",
  title: "List",
  madeFrom: "x",
  intro: [],
  sections: [],
};

describe("the reference", () => {
  const files = new Map(renderReference([document, list]).map(({ name, text }) => [name, text]));

  it("has a page for each document, a JSON Schema for each schema, and a list of the pages", () => {
    expect([...files.keys()]).toEqual(["README.md", "thing.md", "thing.schema.json", "list.md"]);
    expect(files.get("README.md")).toContain(
      "| [Thing](thing.md) | [thing.schema.json](thing.schema.json) |",
    );
    expect(files.get("README.md")).toContain("| [List](list.md) |  |");
  });

  it("says on every page what made it, and ends it with one newline", () => {
    for (const [name, text] of files) {
      expect(text, name).toContain("Made by `serving harness reference`");
      expect(text, name).toMatch(/[^\n]\n$/);
    }
  });

  it("is the same each time", () => {
    expect(renderReference([document, list])).toEqual(renderReference([document, list]));
  });

  it("shows a page's keys block by block", () => {
    expect(
      files.get("thing.md"),
    ).toBe(`<!-- Made by \`serving harness reference\` from harness/thing/schema.ts. Edits here are lost. -->

# Thing

What it is.

## Keys of the file itself

| Key | Type | Default | Variable | Meaning |
| --- | --- | --- | --- | --- |
| <a id="port"></a>\`port\` | whole number from 1 to 9 | \`8\` | \`HX_PORT\` | A port \\| or not. Really. |
| <a id="mode"></a>\`mode\` | \`a\`, \`b\` or \`c\` | **required** |  | How. |

## \`inner\`

<a id="inner"></a>

A block.

| Key | Type | Meaning |
| --- | --- | --- |
| <a id="inner.share"></a>\`share\` | number from 0 to 1 (USD) | Part. Example: \`0.5\` |

## More

Words.

| A |
| --- |
| 1 |
`);
  });

  it("gives editors a JSON Schema", () => {
    expect(JSON.parse(files.get("thing.schema.json") ?? "")).toMatchObject({
      $schema: "http://json-schema.org/draft-07/schema#",
      title: "Thing",
      additionalProperties: false,
      required: ["mode"],
      properties: { port: { minimum: 1, maximum: 9, default: 8 } },
    });
  });

  it("keeps a table whole whatever is in its cells", () => {
    expect(renderTable(["a", "b"], [["x|y", "1\n2"]])).toBe(
      "| a | b |\n| --- | --- |\n| x\\|y | 1 2 |",
    );
  });
});
