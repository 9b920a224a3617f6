import { describe, expect, it } from "vitest";
import * as z from "zod";
import { mayBeQuoted } from "../../faults/quoting";
import { schemaFaults } from "../../faults/schemaFaults";
import { looksLikeAKey } from "../../faults/secrets";

const schema = z.strictObject({
  choice: z.enum(["advisory", "pr"]).optional(),
  version: z.literal([1, 2]).optional(),
  whole: z.int().min(1).max(10).optional(),
  number: z.number().positive().max(10).optional(),
  flag: z.boolean().optional(),
  text: z.string().min(1).optional(),
  list: z.array(z.string()).min(1).optional(),
  map: z.record(z.string(), z.number()).optional(),
  block: z.strictObject({}).optional(),
  budget: z.union([z.literal(""), z.number()]).optional(),
  told: z
    .number()
    .optional()
    .describe("Longest answer. A model that thinks needs room. See example.com for more."),
});

function messageOf(key: string, value: unknown): string | undefined {
  const given = { [key]: value };
  const read = schema.safeParse(given);
  return read.success ? undefined : schemaFaults(schema, given, read.error.issues)[0]?.message;
}

describe("why a schema refuses a value, in words", () => {
  it.each<[string, unknown, string]>([
    [
      "choice",
      "advisry",
      "Expected `advisory` or `pr`, got text (`advisry`). Did you mean `advisory`?",
    ],
    ["choice", "PR", "Expected `advisory` or `pr`, got text (`PR`). Did you mean `pr`?"],
    ["choice", "something else", "Expected `advisory` or `pr`, got text (`something else`)."],
    ["choice", "", "Expected `advisory` or `pr`, got empty text."],
    ["choice", 5, "Expected `advisory` or `pr`, got 5."],
    ["choice", null, "Expected `advisory` or `pr`, got nothing (null)."],
    ["version", 3, "Expected `1` or `2`, got 3."],
    ["version", "2", "Expected `1` or `2`, got text (`2`). Write it without quotes."],
    ["whole", 1.5, "Expected a whole number, got 1.5."],
    ["whole", "7", "Expected a whole number, got text (`7`). Write it without quotes."],
    ["whole", "1_000", "Expected a whole number, got text. Write 1000."],
    ["whole", "12,5", "Expected a whole number, got text."],
    ["number", "4,5", "Expected a number, got text. Write 4.5."],
    ["number", "4,500", "Expected a number, got text."],
    ["number", "50%", "Expected a number, got text."],
    ["whole", "seven", "Expected a whole number, got text (`seven`)."],
    ["whole", true, "Expected a whole number, got true."],
    ["whole", 0, "Expected at least 1, got 0."],
    ["whole", 11, "Expected at most 10, got 11."],
    ["number", 0, "Expected more than 0, got 0."],
    ["number", Number.NaN, "Expected a finite number, not NaN or Infinity."],
    ["flag", "true", "Expected `true` or `false`, got text (`true`). Write it without quotes."],
    ["flag", "yes", "Expected `true` or `false`, got text (`yes`)."],
    ["text", "", "Expected text that is not empty."],
    ["text", 123456789, "Expected text, got a number. Write it in quotes."],
    ["text", true, "Expected text, got true. Write it in quotes."],
    ["text", new Date(0), "Expected text, got a date. Write it in quotes."],
    ["text", null, "Expected text, got nothing (null)."],
    ["text", ["x"], "Expected text, got a list."],
    ["list", [], "Expected at least 1 item."],
    ["list", "x", "Expected a list, got text (`x`)."],
    ["map", [], "Expected a map, got a list."],
    ["block", "x", "Expected a map, got text (`x`)."],
    ["budget", "x", "Expected empty text or a number, got text (`x`)."],
    ["budget", "50", "Expected empty text or a number, got text (`50`). Write it without quotes."],
    ["told", null, "Expected a number, got nothing (null). (Longest answer.)"],
  ])("%s: %j", (key, value, message) => {
    expect(messageOf(key, value)).toBe(message);
  });

  it.each([
    [z.string(), "text"],
    [z.int(), "a whole number"],
    [z.number(), "a number"],
    [z.boolean(), "`true` or `false`"],
    [z.enum(["advisory", "pr"]), "`advisory` or `pr`"],
    [z.strictObject({}), "a map"],
    [z.array(z.string()), "a list"],
  ])("a required key %#: %s", (needed, wanted) => {
    const needs = z.strictObject({ key: needed });
    expect(schemaFaults(needs, {}, needs.safeParse({}).error?.issues ?? [])[0]).toMatchObject({
      path: "key",
      code: "missing_key",
      message: `This key is required (${wanted}).`,
    });
  });

  it.each([
    "hunter2",
    "SECRET",
    "a SECRET b",
    "topsecret",
    "sk-abcdef",
    "hf_abcdef",
    "Tr0ub4dor&3",
    "correct horse battery staple",
    "123456",
    "a@b",
    "\u001b[31m",
    "two\nlines",
    "x".repeat(25),
  ])("does not repeat %j, which may be a secret or break the line", (value) => {
    for (const key of ["choice", "whole", "flag"]) {
      expect(messageOf(key, value)).toMatch(/got text\.(?: Write it without quotes\.)?$/);
    }
  });
});

describe("what may be quoted", () => {
  it.each([
    "advisory",
    "openai",
    "json-summary",
    "http_error",
    "two words",
    "8",
    "404",
    "1.5",
    "Yes",
  ])("%s", (text) => {
    expect(mayBeQuoted(text)).toBe(true);
  });
});

describe("what looks like a key", () => {
  it.each([
    ["sk_live_abc", true],
    ["AKIAIOSFODNN7EXAMPLE", true],
    ["a8f5f167f44f4964e6c998dee827110c", true],
    ["JBSWY3DPEHPK3PXP", true],
    ["KEY_JBSWY3DPEHPK3PXP", true],
    ["X7K2P9QW4M", true],
    ["AIzaSyA1", false],
    ["OPENAI_API_KEY", false],
    ["K8S_CLUSTER_2_TOKEN", false],
    ["HUGGINGFACETOKEN2", false],
    ["MY_VERY_LONG_VARIABLE_NAME_FOR_SERVER_8001_KEY", false],
  ])("%s: %s", (text, is) => {
    expect(looksLikeAKey(text)).toBe(is);
  });
});
