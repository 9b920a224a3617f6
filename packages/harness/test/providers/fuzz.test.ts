import { readFileSync } from "node:fs";
import { join } from "node:path";
import { UnreadableInput } from "@local-serving/base/faults/fault";
import fc from "fast-check";
import { stringify } from "smol-toml";
import { describe, expect, it } from "vitest";
import { anyCharacter } from "../../../../test/layers/anyCharacter";
import { checkProfile, resolvedProfile } from "../../providers/check";
import { parseProfile } from "../../providers/profile";
import { providerSchema } from "../../providers/schema";

function everything(text: string): string {
  try {
    const verdict = checkProfile(parseProfile("p.toml", text));
    return JSON.stringify([verdict.faults, resolvedProfile(verdict)]);
  } catch (error) {
    if (error instanceof UnreadableInput) return error.message;
    throw error;
  }
}

describe("a check of anything", () => {
  it("never crashes on text", () => {
    const piece = fc.constantFrom(
      "[providers.a]",
      "[defaults]",
      "[",
      "]",
      "type",
      "peer_for.a",
      "=",
      '"',
      "'",
      '"""',
      "\n",
      " ",
      "#",
      "\\",
      "{",
      "}",
      ",",
      "true",
      "1",
      "\r\n",
      "\ufeff",
      "__proto__",
      "constructor",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 50 }), (pieces) => {
        expect(typeof everything(pieces.join(""))).toBe("string");
      }),
      { numRuns: 1000 },
    );
  });

  it("never crashes on a good profile with letters changed", () => {
    const good = readFileSync(join(__dirname, "fixtures", "good.toml"), "utf8");
    fc.assert(
      fc.property(
        fc.nat(good.length - 1),
        fc.nat(20),
        fc.string({ maxLength: 8, unit: anyCharacter }),
        (at, cut, put) => {
          expect(typeof everything(good.slice(0, at) + put + good.slice(at + cut))).toBe("string");
        },
      ),
      { numRuns: 400 },
    );
  });

  it("never shows a value that could be a key, wherever it was put", () => {
    const key = fc.constantFrom(
      "api_key",
      "token",
      "password",
      ...Object.keys(providerSchema.shape).filter(
        (name) => !["model", "host", "base_url", "version"].includes(name),
      ),
    );
    const secret = fc.constantFrom(
      "sk-live-SECRET",
      "hf_SECRETabc123",
      "SECRET",
      "a SECRET b",
      "ghp_SECRET0123456789abcdef",
    );
    const quote = fc.constantFrom('"', "'", '"""', "");
    const tail = fc.constantFrom("", " # SECRET", "  ", "\nSECRET");
    fc.assert(
      fc.property(key, secret, quote, tail, (name, value, mark, rest) => {
        const text = `[providers.p]\n${name === "type" ? "" : 'type = "cli"\n'}${name} = ${mark}${value}${mark}${rest}\n`;
        // A variable's name that holds no more than letters is what the key is for.
        if (name === "api_key_env" && value === "SECRET") return;
        expect(everything(text)).not.toContain("SECRET");
      }),
      { numRuns: 1000 },
    );
  });

  it("takes values of any type at any key", () => {
    const value = fc.oneof(
      fc.string(),
      fc.double({ noNaN: true }),
      fc.boolean(),
      fc.array(fc.string()),
      fc.constant({ a: 1 }),
      fc.constant(new Date(0)),
    );
    const table = fc.dictionary(fc.constantFrom(...Object.keys(providerSchema.shape), "x"), value, {
      noNullPrototype: true,
    });
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom("a", "b"), table, { noNullPrototype: true }),
        (providers) => {
          expect(typeof everything(stringify({ providers }))).toBe("string");
        },
      ),
      { numRuns: 200 },
    );
  });

  it.each([
    ["10,000 brackets", `a = ${"[".repeat(10_000)}${"]".repeat(10_000)}`],
    ["10,000 inline tables", `a = ${"{a=".repeat(10_000)}1${"}".repeat(10_000)}`],
    ["a header of 10,000 parts", `[${"a.".repeat(10_000)}a]\nx = 1`],
    ["a key of 10,000 quoted parts", `${'"a".'.repeat(10_000)}a = 1`],
    [
      "a string of a million letters",
      `[providers.p]\ntype = "cli"\ncommand = "${"x".repeat(1_000_000)}"`,
    ],
    [
      "5,000 providers",
      Array.from({ length: 5_000 }, (_, n) => `[providers.p${n}]\ntype = "cli"\n`).join(""),
    ],
    ["a string that never ends", `a = "${'\\"'.repeat(500_000)}`],
  ])("is quick on %s", (_, text) => {
    everything(text);
  });
});
