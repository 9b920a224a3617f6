import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applied, difference, type Value } from "../differences";

const WORD = fc.constantFrom("a", "b", "c", "d", "e");
const PLAIN = fc.oneof(WORD, fc.integer({ min: 0, max: 2 }), fc.boolean(), fc.constant(null));
const { value: VALUE } = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    PLAIN,
    fc.uniqueArray(WORD).map((list) => list.sort()),
    fc.array(PLAIN, { maxLength: 4 }),
    fc.dictionary(WORD, tie("value"), { maxKeys: 4 }),
  ),
}));

describe("the difference of two versions", () => {
  it("makes the later of the earlier, whatever either holds, from a file too", () => {
    fc.assert(
      fc.property(fc.option(VALUE, { nil: undefined }), VALUE, (before, after) => {
        const file = JSON.parse(JSON.stringify(difference(before, after)));
        expect(applied(before, file)).toEqual(after);
      }),
      { numRuns: 5000 },
    );
  });

  it.each<[string, Value, Value, object]>([
    ["nothing of what is the same", { a: [1], b: { c: "d" } }, { a: [1], b: { c: "d" } }, {}],
    ["items of lists in order", ["a", "c"], ["b", "c"], { gone: ["a"], added: ["b"] }],
    ["the whole of any other list", [2, 1], [1, 2], { gone: [2, 1], added: [1, 2] }],
    ["keys", { a: 1, b: null }, { a: 1, c: null }, { gone: { b: null }, added: { c: null } }],
    [
      "a value under its key alone",
      { a: { b: 1, c: 2 } },
      { a: { b: 1, c: 3 } },
      { added: { a: { c: 3 } } },
    ],
    [
      "a list that becomes empty",
      { a: ["b"] },
      { a: [] },
      { gone: { a: ["b"] }, added: { a: [] } },
    ],
  ])("holds %s", (_, before, after, expected) => {
    expect(JSON.parse(JSON.stringify(difference(before, after)))).toEqual(expected);
  });

  it("leaves keys and lists in order", () => {
    const data = applied({ b: ["b", "d"], d: 1 }, { added: { a: 1, b: ["a", "c"], c: 1 } });
    expect(JSON.stringify(data)).toBe('{"a":1,"b":["a","b","c","d"],"c":1,"d":1}');
  });
});
