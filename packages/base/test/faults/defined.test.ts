import { expect, it } from "vitest";
import { defined } from "../../faults/defined";

it("keeps every value but undefined", () => {
  expect(Object.entries(defined({ a: undefined, b: null, c: 0, d: "", e: false }))).toEqual([
    ["b", null],
    ["c", 0],
    ["d", ""],
    ["e", false],
  ]);
});

it("has a type that fits optional keys which must not be undefined", () => {
  const target: { readonly a?: number; readonly b: string } = defined({
    a: Math.random() > 2 ? 1 : undefined,
    b: "x",
  });
  expect(target).toEqual({ b: "x" });
});
