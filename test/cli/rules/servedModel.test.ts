import { describe, expect, it } from "vitest";
import { otherModel } from "../../../cli/rules/serverSeen";

describe("the model behind the names", () => {
  it.each([
    ["the declared one", "org/model", { id: "model", root: "org/model" }, undefined],
    ["in other letters", "org/Model", { id: "model", root: "Org/model" }, undefined],
    ["another of the hub", "org/model", { id: "model", root: "org/other" }, "org/other"],
    ["a folder", "org/model", { id: "model", root: "/models/other" }, undefined],
    [
      "a path in the cache",
      "org/model",
      { id: "model", root: "hub/models--org--m/snapshots/1" },
      undefined,
    ],
    ["a folder that is declared", "/models/model", { id: "model", root: "org/other" }, undefined],
    ["an adapter", "org/model", { id: "sql", root: "org/sql", parent: "model" }, undefined],
    [
      "a proxy that repeats the name",
      "org/model",
      { id: "org/alias", root: "org/alias" },
      undefined,
    ],
    ["none", "org/model", { id: "model" }, undefined],
  ])("%s", (_, declared, entry, other) => {
    expect(otherModel(declared, [entry])).toBe(other);
  });
});
