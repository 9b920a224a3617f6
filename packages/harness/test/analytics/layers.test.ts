import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { defaultLayer, effectiveValues, flatten, LAYERS } from "../../analytics/layers";

describe("layers upon each other", () => {
  it("are, lowest first, defaults, file, .env, environment, arguments", () => {
    expect(LAYERS).toEqual(["default", "file", "dotenv", "env", "cli"]);
  });

  it("give each key from the highest layer that sets it, and from that one only", () => {
    const names = [...defaultLayer().keys()];
    const value = fc.oneof(
      fc.constant(""),
      fc.constant(0),
      fc.string(),
      fc.integer(),
      fc.array(fc.string()),
    );
    const layer = fc.dictionary(fc.constantFrom(...names), value, {
      maxKeys: 12,
      noNullPrototype: true,
    });
    fc.assert(
      fc.property(layer, layer, layer, layer, (file, dotenv, env, cli) => {
        const upper: [(typeof LAYERS)[number], Record<string, unknown>][] = [
          ["cli", cli],
          ["env", env],
          ["dotenv", dotenv],
          ["file", file],
        ];
        const maps = Object.fromEntries(
          upper.map(([name, values]) => [name, new Map(Object.entries(values))]),
        );
        const effective = effectiveValues({ default: defaultLayer(), ...maps });
        for (const name of names) {
          const from = upper.find(([, values]) => Object.hasOwn(values, name));
          const expected =
            from === undefined
              ? { value: defaultLayer().get(name), layer: "default" }
              : { value: from[1][name], layer: from[0] };
          expect(effective.get(name)).toEqual(expected);
        }
        expect(effective.size).toBe(names.length);
      }),
      { numRuns: 100 },
    );
  });

  it.each([
    ["empty text", "redaction_mode", ""],
    ["zero", "sessions.noise.min_turns", 0],
    ["the default's own value", "embedding.workers", 1],
    ["an empty list", "sessions.noise.path_patterns", []],
  ])("let %s win when it is set", (_, name, value) => {
    const effective = effectiveValues({ default: defaultLayer(), file: new Map([[name, value]]) });
    expect(effective.get(name)).toEqual({ value, layer: "file" });
  });

  it("merge blocks key by key and replace lists", () => {
    const file = flatten({ sessions: { noise: { path_patterns: ["/a"] } } });
    const effective = effectiveValues({ default: defaultLayer(), file });
    expect(effective.get("sessions.noise.path_patterns")).toEqual({ value: ["/a"], layer: "file" });
    expect(effective.get("sessions.noise.min_turns")).toEqual({ value: 3, layer: "default" });
  });

  it("give an entry that only the file names the defaults of its kind", () => {
    const file = flatten({
      pricing: { models: { m: { input: 1 } } },
      judge: { by_copilot: { t: { model: "x" } } },
    });
    const effective = effectiveValues({ default: defaultLayer(), file });
    expect(effective.get("pricing.models.m.currency")).toEqual({ value: "USD", layer: "default" });
    expect(effective.get("pricing.models.m.effective_date")).toEqual({
      value: "2026-05-01",
      layer: "default",
    });
    expect(effective.get("judge.by_copilot.t.backend")).toEqual({
      value: "ollama",
      layer: "default",
    });
    expect(effective.has("pricing.models.m.output")).toBe(false);
    const names = [...effective.keys()].filter((name) => name.startsWith("pricing.models.m."));
    expect(names).toEqual([
      "pricing.models.m.currency",
      "pricing.models.m.effective_date",
      "pricing.models.m.input",
    ]);
  });

  it("pass over keys that the schema does not know", () => {
    expect(flatten({ colour: "blue", judge: { colour: 1 }, _comment: "x", $schema: "y" })).toEqual(
      new Map(),
    );
    expect(
      flatten(JSON.parse('{"sources":{"__proto__":"x"},"__proto__":{"dsn":"y"}}')).has("dsn"),
    ).toBe(false);
  });
});
