import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { listed } from "../../faults/fault";
import { faultsOnce, schemaFaults } from "../../faults/schemaFaults";
import { parseYaml } from "../../faults/yamlDocument";

const schema = z.strictObject({
  port: z.int().min(1).max(65535).describe("TCP port"),
  mode: z.enum(["native", "bridge"]).optional(),
  machines: z
    .record(z.string(), z.strictObject({ totalGiB: z.number(), listen: z.string().default("x") }))
    .default({}),
  a: z.union([z.literal("none"), z.strictObject({ port: z.number() })]).optional(),
});

function faultsIn(text: string) {
  const document = parseYaml("stack.yaml", text);
  const result = schema.safeParse(document.value);
  return result.success ? [] : schemaFaults(schema, document.value, result.error.issues, document);
}

describe("faults of a document", () => {
  it("names the nearest known key and its place, in maps with free keys too", () => {
    const faults = faultsIn("port: 80\nmachines:\n  dgx:\n    totalGib: 3\n    totalGiB: 3\n");
    expect(faults).toEqual([
      {
        path: "machines.dgx.totalGib",
        code: "unknown_key",
        message: "Unknown key `totalGib`. Did you mean `totalGiB`?",
        severity: "error",
        line: 4,
        column: 5,
      },
    ]);
  });

  it("lists the known keys when none is near", () => {
    const [fault] = faultsIn("port: 80\nmachines: {dgx: {totalGiB: 1, zzzzzzzzzz: 1}}");
    expect(fault?.message).toBe("Unknown key `zzzzzzzzzz`. Known keys here: totalGiB, listen.");
  });

  it("quotes no secret where a key is due", () => {
    const said = (text: string) =>
      listed(faultsIn(`port: 80\nmachines: {dgx: {totalGiB: 1, ${text}}}`));
    expect(said('"password=hunter2": 1')[0]).toMatchObject({
      path: "machines.dgx.password=<redacted>",
      message: expect.stringContaining("Unknown key `password=<redacted>`."),
    });
    expect(said("JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP: 1")[0]).toMatchObject({
      path: "machines.dgx.<redacted>",
      message: expect.stringContaining("Unknown key `<redacted>`."),
    });
    for (const key of ["hf_overrides", "api_key", "vllm_cache_root_v2", "gpt4oMini"])
      expect(said(`${key}: 1`)[0]?.message).toContain(`Unknown key \`${key}\`.`);
  });

  it("reports all faults at once", () => {
    const faults = faultsIn("port: 70000\nmode: nativ\nmachines: {dgx: {totalGiB: '3'}}\n");
    expect(faults.map((fault) => [fault.path, fault.code])).toEqual([
      ["port", "out_of_range"],
      ["mode", "unknown_value"],
      ["machines.dgx.totalGiB", "wrong_type"],
    ]);
    expect(faults[1]?.message).toContain("Did you mean `native`?");
  });

  it("says that a required key is missing", () => {
    expect(faultsIn("mode: native")[0]).toMatchObject({ path: "port", code: "missing_key" });
  });

  it("has one fault for a mistyped key that is required, and never none", () => {
    const once = (text: string) => {
      const document = parseYaml("stack.yaml", text);
      const { error } = schema.safeParse(document.value);
      return faultsOnce(schema, document.value, error?.issues ?? [], document).map(
        ({ path, message }) => `${path}: ${message}`,
      );
    };
    expect(once("prt: 80\nmachines: {dgx: {totalGb: 3}}\na: {pot: 1}")).toEqual([
      "machines.dgx.totalGb: Unknown key `totalGb`. Did you mean `totalGiB`?",
      "a.pot: Unknown key `pot`. Did you mean `port`?",
      "prt: Unknown key `prt`. Did you mean `port`?",
    ]);
    // Another block's key, and one that is near nothing, leave the fault of the missing one.
    expect(
      once("mode: native\nmachines: {dgx: {prt: 3}}").map((each) => each.split(":")[0]),
    ).toEqual(["port", "machines.dgx.totalGiB", "machines.dgx.prt"]);
    const keys = fc.constantFrom("port", "prt", "pot", "mode", "mod", "machines", "zzz", "x");
    fc.assert(
      fc.property(fc.uniqueArray(keys), (names) => {
        const value = Object.fromEntries(names.map((name) => [name, 80]));
        const issues = schema.safeParse(value).error?.issues ?? [];
        const all = schemaFaults(schema, value, issues);
        const kept = faultsOnce(schema, value, issues);
        expect(all).toEqual(expect.arrayContaining(kept));
        expect(kept.length > 0).toBe(all.length > 0);
        const missing = all.length - kept.length;
        expect(all.filter(({ code }) => code === "unknown_key").length).toBeGreaterThanOrEqual(
          missing,
        );
      }),
    );
  });

  it("explains the union option that was meant", () => {
    expect(faultsIn("port: 1\na: {prt: 3}").map((fault) => fault.path)).toEqual([
      "a.port",
      "a.prt",
    ]);
  });

  it("never repeats text that was given, which might be a secret", () => {
    const faults = faultsIn("port: hunter2\nmode: hunter2");
    expect(JSON.stringify(faults)).not.toContain("hunter2");
    expect(faults).toHaveLength(2);
  });
});

describe("a block of several forms", () => {
  const forms = z.discriminatedUnion("mode", [
    z.strictObject({ mode: z.literal("host"), listen: z.string().optional() }),
    z.strictObject({ mode: z.literal("none") }),
  ]);
  const faultsOf = (value: unknown, schema: z.ZodType = z.strictObject({ at: forms })) => {
    const result = schema.safeParse(value);
    return result.success
      ? []
      : schemaFaults(schema, value, result.error.issues).map((fault) => fault.message);
  };

  it("names the form that a key goes with", () => {
    expect(faultsOf({ at: { mode: "none", listen: "x" } })).toEqual([
      "`listen` goes with `mode: host` only: remove it here, or set `mode: host`.",
    ]);
  });

  it("says which forms there are when none was meant, and for a missing key", () => {
    const either = z.strictObject({
      a: z.union([z.literal("none"), z.strictObject({ port: z.number() })]),
    });
    expect(faultsOf({ a: 3 }, either)).toEqual(["Expected `none` or a map, got 3."]);
    expect(faultsOf({}, either)).toEqual(["This key is required (`none` or a map)."]);
  });

  it("says which names a map takes", () => {
    const names = z.record(z.string().regex(/^[a-z]+$/, "Expected small letters"), z.number());
    expect(faultsOf({ "A B": 1 }, names)).toEqual([
      "This name can't be used. Expected small letters.",
    ]);
  });
});
