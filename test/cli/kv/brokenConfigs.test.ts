import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { runServing } from "../runServing";

const folder = temporaryFolder("serving-kv-broken-");
const path = join(folder, "config.json");

async function kv(text: string, ...more: string[]) {
  writeFileSync(path, text);
  const ran = await runServing(["models", "kv", "--config", path, "--available", "20GiB", ...more]);
  return { ...ran, err: ran.err.replaceAll(path, "config.json") };
}

const GOOD = {
  ...{ num_hidden_layers: 32, num_attention_heads: 32, num_key_value_heads: 8, hidden_size: 4096 },
  max_position_embeddings: 131_072,
};
const { num_hidden_layers: _layers, ...WITHOUT_LAYERS } = GOOD;
const { num_attention_heads: _heads, ...WITHOUT_HEADS } = GOOD;
const types = (...rest: unknown[]) => [...Array(32 - rest.length).fill("full_attention"), ...rest];
/** Python's JSON: one value is written as it is. */
const python = (field: string, value: string) =>
  JSON.stringify({ ...GOOD, [field]: "HERE" }).replace('"HERE"', value);

const UNKNOWN = "Its KV cache can't be planned before the engine has measured it.";

/** One line a fault: place, path, message. */
const BROKEN: readonly (readonly [name: string, config: unknown, faults: readonly string[]])[] = [
  [
    "a missing number of layers",
    WITHOUT_LAYERS,
    ["num_hidden_layers: This key is required (a whole number)."],
  ],
  [
    "a missing number of heads",
    WITHOUT_HEADS,
    ["num_attention_heads: This key is required (a whole number)."],
  ],
  [
    "text for a number",
    { ...GOOD, num_hidden_layers: "32" },
    ["num_hidden_layers: Expected a whole number, got text (`32`). Write it without quotes."],
  ],
  [
    "true for a number",
    { ...GOOD, num_hidden_layers: true },
    ["num_hidden_layers: Expected a whole number, got true."],
  ],
  [
    "zero heads, of both kinds",
    { ...GOOD, num_attention_heads: 0, num_key_value_heads: 0 },
    [
      "num_attention_heads: Expected at least 1, got 0.",
      "num_key_value_heads: Expected at least 1, got 0.",
    ],
  ],
  [
    "negative sizes",
    { ...GOOD, num_key_value_heads: -8, head_dim: -128 },
    [
      "head_dim: Expected at least 0, got -128.",
      "num_key_value_heads: Expected at least 1, got -8.",
    ],
  ],
  [
    "sizes that no model has",
    { ...GOOD, num_hidden_layers: 1e12, head_dim: 1e15 },
    [
      "num_hidden_layers: Expected at most 10000, got 1000000000000.",
      "head_dim: Expected at most 1000000, got",
    ],
  ],
  [
    "a layer_types that is too short",
    { ...GOOD, layer_types: types().slice(1) },
    ["layer_types: This lists 31 layers, but num_hidden_layers is 32."],
  ],
  [
    "an empty layer_types",
    { ...GOOD, layer_types: [] },
    ["layer_types: Expected at least 1 item."],
  ],
  [
    "a hole in layer_types",
    { ...GOOD, layer_types: types(null) },
    ["layer_types.31: Expected text, got nothing (null)."],
  ],
  [
    "a layer of an unknown kind",
    { ...GOOD, layer_types: types("mystery_attention") },
    [
      `layer_types.31: Unknown architecture: it is not one of the layer types full_attention, sliding_attention, linear_attention. ${UNKNOWN}`,
    ],
  ],
  [
    "key/value heads that query heads can't share",
    { ...GOOD, num_key_value_heads: 5 },
    ["num_attention_heads: 32 query heads can't share 5 key/value heads evenly."],
  ],
  [
    "a width that does not divide",
    { ...GOOD, hidden_size: 4097 },
    [
      "head_dim: This field is required. hidden_size 4097 is not a multiple of 32 heads, so it can't be derived.",
    ],
  ],
  [
    "an empty map",
    {},
    [
      `: Unknown architecture: no field says which layers have attention. ${UNKNOWN}`,
      "num_hidden_layers: This key is required (a whole number).",
      "num_attention_heads: This key is required (a whole number).",
    ],
  ],
  ["a list", [GOOD], [": Expected a map, got a list."]],
  ["null", null, [": Expected a map, got nothing (null)."]],
  ["a number", 42, [": Expected a map, got 42."]],
  [
    "nothing but a text_config of null",
    { text_config: null },
    [
      `: Unknown architecture: no field says which layers have attention. ${UNKNOWN}`,
      "num_h",
      "num_a",
    ],
  ],
  [
    "a text_config that is a list, beside a whole config",
    { ...GOOD, text_config: [GOOD] },
    ["text_config: Expected a map, got a list."],
  ],
  [
    "a text_config that is text",
    { ...GOOD, text_config: "GOOD" },
    ["text_config: Expected a map, got text."],
  ],
  [
    "an empty text_config, beside a whole config",
    { ...GOOD, text_config: {} },
    [
      `text_config: Unknown architecture: no field says which layers have attention. ${UNKNOWN}`,
      "text_config.num_hidden_layers: This key is required (a whole number).",
      "text_config.num_attention_heads: This key is required (a whole number).",
    ],
  ],
  [
    "sliding layers without a window",
    { ...GOOD, layer_types: types("sliding_attention") },
    ["sliding_window: "],
  ],
  ["half of MLA", { ...GOOD, kv_lora_rank: 512 }, ["qk_rope_head_dim: This field is required."]],
  [
    "an encoder",
    { ...GOOD, is_encoder_decoder: true },
    ["is_encoder_decoder: Unknown architecture: "],
  ],
];

describe("a config.json that can be read but not planned: exit 1, each fault once, with its place", () => {
  it.each(BROKEN)("%s", async (_, config, expected) => {
    const { code, out, err } = await kv(JSON.stringify(config));
    expect([code, out]).toEqual([1, ""]);
    const [head, ...lines] = err.trimEnd().split("\n");
    expect(head).toBe(
      `config.json: ${expected.length} ${expected.length === 1 ? "fault" : "faults"}`,
    );
    const faults = lines.map((line) => line.replace(/^ {2}config\.json:\d+:\d+ ?/, ""));
    expect(faults).toEqual(
      expected.map((start) => expect.stringMatching(new RegExp(`^${literal(start)}`))),
    );
  });

  it.each([
    ["num_hidden_layers", "1e999"],
    ["hidden_size", "-1e999"],
    ["max_position_embeddings", "1e999"],
    ["max_position_embeddings", "Infinity"],
    ["num_hidden_layers", "NaN"],
    ["head_dim", "NaN"],
    ["sliding_window", "-Infinity"],
  ])("%s: %s is not a count, and is not taken as absent", async (field, value) => {
    const { code, out, err } = await kv(python(field, value));
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(new RegExp(` ${field}: Expected a finite number, not NaN or Infinity\\.`));
  });

  it("the same in json: one document with path, code and place", async () => {
    const { code, out } = await kv(
      `${JSON.stringify({ ...GOOD, text_config: [1] }, null, 2)}\n`,
      "--format",
      "json",
    );
    const issues = [
      {
        ...{ path: "text_config", code: "wrong_type", severity: "error", line: 7, column: 18 },
        message: "Expected a map, got a list. (the language model's own config)",
      },
    ];
    expect([code, JSON.parse(out)]).toEqual([
      1,
      { version: 1, fits: null, issues, faults: issues },
    ]);
  });
});

describe("what is not a fault", () => {
  it.each([
    ["a text_config of null beside a whole config", { ...GOOD, text_config: null }],
    [
      "fields of null",
      { ...GOOD, layer_types: null, sliding_window: null, quantization_config: null },
    ],
    ["a field that is another program's", { ...GOOD, anything: { at: ["all"] } }],
  ])("%s", async (_, config) => {
    const { code, out } = await kv(JSON.stringify(config));
    expect(code).toBe(0);
    expect(out).toBe((await kv(JSON.stringify(GOOD))).out);
  });

  it("Python's infinity where no cache looks", async () => {
    expect((await kv(python("limits_of_another", "[0.0, Infinity]"))).code).toBe(0);
  });
});

describe("no JSON: exit 2, with the place", () => {
  it.each([
    [
      "a key without quotes",
      "{num_hidden_layers: 32}",
      "config.json:1:2: not valid JSON from here on",
    ],
    [
      "a comma too many",
      '{"num_hidden_layers": 32,}',
      "config.json:1:26: not valid JSON from here on",
    ],
    ["an empty file", "", "config.json:1:1: the file is empty; it must hold one JSON document"],
    ["half a file", '{"num_hidden_layers": 32', "not valid JSON from here on"],
    [
      "text_config in text_config, 200 deep",
      `${'{"text_config":'.repeat(200)}{}${"}".repeat(200)}`,
      "is nested more than 100 levels deep",
    ],
  ])("%s", async (_, text, message) => {
    const { code, out, err } = await kv(text);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(message);
  });
});

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
