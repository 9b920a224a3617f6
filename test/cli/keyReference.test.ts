import { errorAt } from "@local-serving/base/faults/fault";
import { describe, expect, it } from "vitest";
import { keyReference } from "../../cli/stack/keyReference";

const PAGE = "docs/reference/stack-file.md";
const named = (...paths: string[]) => keyReference(paths.map((path) => errorAt(path, "x", "y")));

describe("where the reference describes the keys of faults", () => {
  it.each([
    ["machines.dgx.totalGiB", "machines.totalGiB"],
    ["machines.dgx.inferenceServers.b.maxModelLen", "machines.inferenceServers.maxModelLen"],
    ["machines.dgx.inferenceServers.b.model.id", "machines.inferenceServers.model.id"],
    ["machines.dgx.clients.codex.via", "machines.clients.codex.via"],
    // A server may be called as a key is.
    ["machines.dgx.inferenceServers.model.image", "machines.inferenceServers.image"],
  ])("is the key's own address for %s", (path, address) => {
    expect(named(path)).toEqual([`Reference: ${PAGE}#${address}`]);
  });

  it("is the block's address for a key that isn't known, and for an item of a list", () => {
    expect(named("machines.dgx.instanceA.maxModellen")).toEqual([
      `Reference: ${PAGE}#machines.instanceA`,
    ]);
    expect(named("machines.dgx.inferenceServers.b.aliases.0")).toEqual([
      `Reference: ${PAGE}#machines.inferenceServers.aliases`,
    ]);
  });

  it("names each address once, and of more than three the page alone", () => {
    const keys = ["home", "home", "device", "network"].map((key) => `machines.dgx.${key}`);
    expect(named(...keys)).toEqual([
      `Reference: ${["home", "device", "network"].map((key) => `${PAGE}#machines.${key}`).join(", ")}`,
    ]);
    expect(named(...keys, "machines.dgx.gpus")).toEqual([`Reference: ${PAGE}`]);
  });

  it("is not there for faults of other files, and for the machines as a whole", () => {
    expect(named("review.max_rounds", "", "maxModelLen", "machines.dgx")).toEqual([]);
  });
});
