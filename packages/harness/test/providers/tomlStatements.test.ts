import { valueAt } from "@local-serving/base/faults/schemaFaults";
import fc from "fast-check";
import { parse, stringify } from "smol-toml";
import { describe, expect, it } from "vitest";
import { parseProfile } from "../../providers/profile";
import { tomlStatements } from "../../providers/tomlStatements";

const statements = (text: string) => [...tomlStatements(text)];

describe("statements of a TOML file", () => {
  it("says where each one is and how it is written", () => {
    const header = {
      kind: "table",
      path: ["a", "b c"],
      written: '[a."b c"]',
      value: "",
      rest: " # d",
      line: 2,
      column: 1,
      valueColumn: 1,
    };
    expect(statements('# c\n[a."b c"] # d\n  x.y = "v" # e\n')).toEqual([
      header,
      {
        kind: "pair",
        path: ["a", "b c", "x", "y"],
        header,
        written: "x.y",
        value: '"v"',
        rest: " # e",
        line: 3,
        column: 3,
        valueColumn: 9,
      },
    ]);
  });

  it.each([
    ["a sign and a hash in a string", 'a = "x = 1 # y"\nb = 1', [1, 2]],
    ["a string of several lines", 'a = """\nb = 2\n"""\nc = 3', [1, 4]],
    ["quotes before the closing ones", 'a = """x"""""\nc = 3', [1, 2]],
    ["a literal string with a backslash", "a = 'x\\'\nc = 3", [1, 2]],
    ["a list over several lines with comments", "a = [\n 1, # ]\n 2,\n]\nc = 3", [1, 5]],
    ["a list of tables", "[[a]]\nb = 1", [1, 2]],
    ["a table in a line", 'a = { b = "}", c = 1 }\nd = 1', [1, 2]],
  ])("passes over %s", (_, text, lines) => {
    expect(() => parse(text)).not.toThrow();
    expect(statements(text).map(({ line }) => line)).toEqual(lines);
  });

  it("finds every value of any document at its line", () => {
    const key = fc.stringMatching(/^[a-z_-]{1,6}$/);
    const leaf = fc.oneof(
      fc.string(),
      fc.integer({ min: -9, max: 99 }),
      fc.boolean(),
      fc.array(fc.string()),
    );
    const table = fc.dictionary(key, leaf, { maxKeys: 4, noNullPrototype: true });
    fc.assert(
      fc.property(fc.dictionary(key, table, { maxKeys: 4, noNullPrototype: true }), (document) => {
        const text = stringify(document);
        const read = parseProfile("p.toml", text);
        const lines = text.split("\n");
        for (const [name, inner] of Object.entries(document))
          for (const field of Object.keys(inner)) {
            const { line } = read.locate([name, field]);
            expect(lines[line - 1]).toMatch(new RegExp(`^${field} = `));
            expect(valueAt(parse(lines[line - 1] ?? ""), [field])).toEqual(inner[field]);
          }
      }),
      { numRuns: 300 },
    );
  });

  it("ends on any text", () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom('"', "'", "[", "]", "{", "=", "\n", "\\", "#", "a", "."),
        }),
        (text) => {
          expect(statements(text).length).toBeLessThanOrEqual(text.length);
        },
      ),
      { numRuns: 2000 },
    );
  });
});
