import { expect, it } from "vitest";
import { fromTo } from "../../../cli/plan/settingChanges";

it.each([
  ["3", "4", "3 -> 4"],
  [null, "4", "4 is added"],
  ["3", null, "3 is removed"],
  // A flag without a value.
  [null, "", "is added"],
  ["", null, "is removed"],
])("says what becomes of %j and %j", (before, after, said) => {
  expect(fromTo(before, after)).toBe(said);
});
