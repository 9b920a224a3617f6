import { describe, expect, it } from "vitest";
import {
  errorAt,
  FaultyInput,
  faultLine,
  listed,
  UnreadableInput,
  warningAt,
} from "../../faults/fault";

const many = (count: number, make: typeof errorAt) =>
  Array.from({ length: count }, (_, index) => make(`k${index}`, "x", "Wrong."));

describe("faults that are listed", () => {
  it("are all of them, in their order, up to 1000", () => {
    const found = [...many(1, warningAt), ...many(999, errorAt)];
    expect(listed(found)).toEqual(found);
    expect(new FaultyInput("f", found).faults).toEqual(found);
  });

  it("are errors first where there are more, and one more fault says how many", () => {
    const shown = listed([...many(700, warningAt), ...many(800, errorAt)]);
    expect(shown).toHaveLength(1001);
    expect(shown.filter(({ severity }) => severity === "warning")).toHaveLength(200);
    expect(shown[0]).toMatchObject({ path: "k0", severity: "warning" });
    expect(shown.at(-1)).toEqual({
      path: "",
      code: "more_faults",
      message: "500 more faults are not listed: fix these first.",
      severity: "error",
    });
    expect(listed(many(1001, warningAt)).at(-1)).toMatchObject({
      message: "1 more fault is not listed: fix these first.",
      severity: "warning",
    });
  });

  it("are counted whole in the text", () => {
    const { message } = new FaultyInput("f.yaml", many(5000, errorAt));
    const lines = message.split("\n");
    expect(lines).toHaveLength(1002);
    expect(lines[0]).toBe("f.yaml: 5000 faults");
    expect(lines.at(-1)).toBe("  4000 more faults are not listed: fix these first.");
  });

  it("quote a name of any length in part, and no key even at the cut", () => {
    const name = `${"x".repeat(390)}.sk-proj-Zk3mQ8vT1xWcRb7NdLpY5sHgJf2a${"y".repeat(500_000)}`;
    const [fault = errorAt("", "", "")] = listed([
      errorAt(name, "unknown_key", `Unknown key \`${name}\`.`),
    ]);
    expect(faultLine(fault).length).toBeLessThan(2500);
    expect(faultLine(fault)).not.toContain("sk-proj");
    expect(new UnreadableInput("f", name).message.length).toBeLessThan(2100);
  });

  it.each([
    ['machines.tokens=["a1b2c3d4"]', "machines.tokens=[<redacted>]"],
    ["machines.dgx.u:hunter2@host.port", "machines.dgx.u:<redacted>@host.port"],
    ["machines.dgx._auth=dXNlcjpodW50ZXIy", "machines.dgx._auth=<redacted>"],
    ["machines.dgx.inferenceServers.b.port", "machines.dgx.inferenceServers.b.port"],
  ])("shows no secret that is a key of its path: %s", (path, shown) => {
    const { faults, message } = new FaultyInput("f", [errorAt(path, "unknown_key", "Wrong.")]);
    expect(faults.map((fault) => fault.path)).toEqual([shown]);
    expect(message).toBe(`f: 1 fault\n  ${shown}: Wrong.`);
  });

  it("say no key by any of their words", () => {
    const key = "https://me:hunter2@host/x";
    const path = ["machines", "dgx", "inferenceServers", "embedding", "versions", key].join(".");
    const { faults, message } = new FaultyInput("f", [errorAt(path, "unknown_key", "Wrong.")]);
    const unreadable = new UnreadableInput("f", `unusable YAML: ${path}`);
    const said = JSON.stringify([faults, message, unreadable, unreadable.message]);
    expect(said.match(/https:..me:<redacted>@host/g)).toHaveLength(4);
    expect(said).not.toContain("hunter2");
  });
});
