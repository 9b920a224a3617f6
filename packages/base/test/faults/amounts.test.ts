import { describe, expect, it } from "vitest";
import * as z from "zod";
import { shareOf } from "../../faults/amounts";
import { schemaFaults, whenMissing } from "../../faults/schemaFaults";

const share = z.number().lte(1).register(shareOf, { total: "totalGiB" });
const required = z.literal("none").describe("What it is. And more.");
whenMissing.add(required, { advice: "Write `needed: none`." });

const schema = z.strictObject({
  totalGiB: z.number().optional(),
  sizeGiB: z.number().optional(),
  sizeGB: z.number().optional(),
  cacheBytes: z.int().optional(),
  idleMinutes: z.int().optional(),
  graceSeconds: z.int().optional(),
  timeout_sec: z.number().optional(),
  min_line_pct: z.number().optional(),
  tokens: z.int().optional(),
  loadedGiB: z.record(z.string(), z.number()).optional(),
  servers: z.record(z.string(), z.strictObject({ share: share.describe("Its share.") })).optional(),
  needed: required,
});

function adviceFor(given: object): string | undefined {
  const read = schema.safeParse({ needed: "none", ...given });
  const [fault] = schemaFaults(schema, given, read.error?.issues ?? []);
  return /Write (.*?)\.(?: \(|$)/.exec(fault?.message ?? "")?.[1];
}

describe("text where a number is due is answered with the number in the key's unit", () => {
  it.each<[string, string, string | undefined]>([
    ["sizeGiB", "60GiB", "60"],
    ["sizeGiB", "60 GB", "55.879"],
    ["sizeGiB", "512 MiB", "0.5"],
    ["sizeGiB", "121,63", "121.63"],
    ["sizeGiB", "60%", undefined],
    ["sizeGB", "20 GiB", "21.475"],
    ["cacheBytes", "8GiB", "8589934592"],
    ["cacheBytes", "8g", "8589934592"],
    ["idleMinutes", "2h", "120"],
    ["idleMinutes", "90 s", "2"],
    ["idleMinutes", "60GiB", undefined],
    ["graceSeconds", "2 min", "120"],
    ["timeout_sec", "1500ms", "1.5"],
    ["min_line_pct", "80%", "80"],
    ["tokens", "128k", "131072"],
    ["tokens", "262144 tokens", "262144"],
    ["tokens", "262,144", "262144"],
    ["tokens", "50%", undefined],
    ["tokens", "many", undefined],
  ])("%s: %s", (key, value, advice) => {
    expect(adviceFor({ [key]: value })).toBe(advice);
  });

  it("of a map's entry by the map's name", () => {
    expect(adviceFor({ loadedGiB: { "a:8b": "512MiB" } })).toBe("0.5");
  });

  it.each<[string, number | undefined, string | undefined]>([
    ["60GiB", 121.63, "0.49 (60 of 121.63 GiB)"],
    ["60 GB", 121.63, "0.45 (55.88 of 121.63 GiB)"],
    ["60GiB", undefined, "the share that 60 GiB is of the machine's memory"],
    ["200GiB", 121.63, undefined],
    ["50%", 121.63, "0.5"],
    ["12.5 %", undefined, "0.125"],
    ["150%", 121.63, undefined],
    ["0,45", 121.63, "0.45"],
    ["half", 121.63, undefined],
  ])("a share that is written as %s of %s GiB", (text, totalGiB, advice) => {
    expect(adviceFor({ totalGiB, servers: { b: { share: text } } })).toBe(advice);
  });
});

it("a required key that is missing is answered with what to write, without its description", () => {
  const [fault, ...others] = schemaFaults(schema, {}, schema.safeParse({}).error?.issues ?? []);
  expect(fault?.message).toBe("This key is required. Write `needed: none`.");
  expect(others).toEqual([]);
});
