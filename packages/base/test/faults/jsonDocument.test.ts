import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyCharacter } from "../../../../test/layers/anyCharacter";
import { jsonSyntaxFault, parseJson } from "../../faults/jsonDocument";

describe("a JSON document", () => {
  const document = parseJson("a.json", '{\n  "a": {"b": [1, {"c": 2}]},\n  "d\\u0065": "x:{,"\n}');

  it.each([
    [[], "value", 1, 1],
    [["a"], "key", 2, 3],
    [["a"], "value", 2, 8],
    [["a", "b"], "value", 2, 14],
    [["a", "b", 1, "c"], "key", 2, 19],
    [["a", "b", 1, "c"], "value", 2, 24],
    [["de"], "value", 3, 14],
    [["a", "missing"], "value", 2, 8],
    [["nowhere"], "key", 1, 1],
  ] as const)("knows where %j is (%s)", (path, part, line, column) => {
    expect(document.locate(path, part)).toEqual({ line, column });
  });

  it("reads what Python writes for numbers that JSON lacks, where allowed", () => {
    const text = '{"a": [NaN, -Infinity, Infinity], "b": "c: NaN, Infinity"}';
    const read = parseJson("a.json", text, { pythonNumbers: true });
    expect(read.value).toEqual({
      a: [Infinity, -Infinity, Infinity],
      b: expect.stringMatching(/^c: /),
    });
    expect(() => parseJson("a.json", text)).toThrow("not valid JSON from here on");
  });

  it("finds every value of any document", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { noNullPrototype: true }),
        (value) => {
          const text = JSON.stringify(value, null, 1);
          const lines = text.split("\n");
          const read = parseJson("a.json", text);
          expect(read.duplicates).toEqual([]);
          for (const [key, inner] of Object.entries(value)) {
            const { line, column } = read.locate([key]);
            const written = JSON.stringify(inner, null, 1).split("\n")[0];
            expect(lines[line - 1]?.slice(column - 1)).toMatch(/./);
            expect(lines[line - 1]?.slice(column - 1).startsWith(written ?? "")).toBe(true);
          }
        },
      ),
    );
  });

  it.each([
    ["x", 0],
    ['{"a": }', 6],
    ['{"a" 1}', 5],
    ['{"a": 1', 7],
    ['{"a": 1,}', 8],
    ["[1,]", 3],
    ["[1 2]", 3],
    ["01", 0],
    ["1 2", 2],
    ["{a: 1}", 1],
    ["[1}", 2],
    ['"a\nb"', 2],
    ['"\\x"', 1],
    ['{"a": tru}', 6],
    ['{"a":', 5],
  ])("%j stops being JSON at %d", (text, offset) => {
    expect(() => JSON.parse(text)).toThrow();
    expect(jsonSyntaxFault(text)).toEqual({ line: 1, column: offset + 1 });
  });

  it("says where text ends too early, on whichever line", () => {
    expect(jsonSyntaxFault('{"a": 1,\n "b":')).toEqual({ line: 2, column: 6 });
  });

  it("names a place for any text with letters changed", () => {
    fc.assert(
      fc.property(
        fc.json(),
        fc.nat(60),
        fc.string({ maxLength: 3, unit: anyCharacter }),
        (good, at, put) => {
          const text = good.slice(0, at) + put + good.slice(at + 1);
          try {
            parseJson("a.json", text).locate(["a"], "key");
          } catch (error) {
            expect(error).toMatchObject({
              name: "UnreadableInput",
              place: { line: expect.any(Number) },
            });
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it("finds keys that are given twice, and of a block that is given twice the block alone", () => {
    const text = '{"a": {"b": 1},\n "a": {"b": 2, "b": 3}, "c": [{"d": 1, "d": 2}]}';
    expect(parseJson("a.json", text).duplicates).toEqual([
      { path: ["a"], place: { line: 2, column: 2 } },
      { path: ["c", "0", "d"], place: { line: 2, column: 40 } },
    ]);
  });

  it.each([
    ["brackets", "[".repeat(500_000)],
    ["maps", '{"a":'.repeat(100_000)],
    ["lines", `${"[\n".repeat(100)}[`],
  ])("refuses %s that are nested too deeply, with the place", (what, text) => {
    const place = what === "lines" ? "101:1" : what === "maps" ? "1:501" : "1:101";
    expect(() => parseJson("a.json", text)).toThrow(
      `a.json:${place}: is nested more than 100 levels deep`,
    );
  });

  it("passes over brackets in strings", () => {
    const value = { a: '[{"'.repeat(1000) };
    expect(parseJson("a.json", JSON.stringify(value)).value).toEqual(value);
  });
});
