import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import vectors from "../../../packages/kv/test/vectors.json";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { runServing } from "../runServing";

const folder = temporaryFolder("serving-kv-");

async function kv(...args: string[]) {
  const { code, out, err } = await runServing(["models", "kv", ...args]);
  return { code, stdout: out, stderr: err };
}

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const configOf = (model: string) => {
  const found = vectors.find((each) => each.id.includes(`/${model}/`));
  if (found === undefined) throw new Error(`no vector of ${model}`);
  return file(`${model}.json`, JSON.stringify(found.config, null, 2));
};
const HYBRID = configOf("qwen3.6-35b-a3b");
const DENSE = configOf("llama-3.1-8b");
const json = ["--format", "json"];

describe("serving models kv", () => {
  it("prints the contract's keys, and nothing else on stdout", async () => {
    const engine = [
      "--kv-cache-dtype",
      "fp8",
      "--max-num-seqs",
      "4",
      "--max-num-batched-tokens",
      "8192",
    ];
    const { code, stdout, stderr } = await kv(
      ...[
        "--config",
        HYBRID,
        "--available",
        "23.22GiB",
        "--drafts",
        "3",
        "--vllm-version",
        "0.28.0",
      ],
      ...engine,
      ...json,
    );
    expect([code, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toMatchObject({
      fits: true,
      blockSize: 2144,
      bytesPerBlock: 24_150_016,
      numBlocks: 1032,
      blocksPerRequest: 138,
      bytesPerRequest: 3_332_702_208,
      maxConcurrency: 1032 / 138,
      tokens: 1_960_381,
      layers: { full: 11, linear: 30, sliding: 0 },
      padding: 0,
      maxModelLen: 262_144,
    });
  });

  it("answers every vector as vLLM does, from the command line", async () => {
    for (const { id, vllm, config, options, expected } of vectors) {
      const args = [
        ...["--config", file("vector.json", JSON.stringify(config)), "--vllm-version", vllm],
        ...[
          "--available",
          String(options.available_kv_bytes),
          "--kv-cache-dtype",
          options.kv_cache_dtype,
        ],
        ...[
          "--max-model-len",
          String(options.max_model_len),
          "--max-num-seqs",
          String(options.max_num_seqs),
        ],
        ...["--max-num-batched-tokens", String(options.max_num_batched_tokens)],
        ...["--drafts", String(options.num_speculative_tokens)],
        ...(options.enable_prefix_caching ? [] : ["--no-prefix-caching"]),
        ...("gdn_prefill_backend" in options
          ? ["--gdn-prefill-backend", String(options.gdn_prefill_backend)]
          : []),
      ];
      const { code, stdout } = await kv(...args, ...json);
      const plan = JSON.parse(stdout);
      expect([id, code, plan.fits, plan.blockSize, plan.numBlocks, plan.blocksPerRequest]).toEqual([
        id,
        expected.fits ? 0 : 1,
        expected.fits,
        expected.block_size,
        expected.num_blocks,
        expected.blocks_per_request_at_max_len,
      ]);
    }
  });

  it("prints a table for people, without colour off a terminal", async () => {
    const { code, stdout } = await kv(
      ...[
        "--config",
        DENSE,
        "--available",
        "20GiB",
        "--kv-cache-dtype",
        "fp8",
        "--max-num-seqs",
        "4",
      ],
    );
    expect(code).toBe(0);
    expect(stdout).toContain(
      "Fits: 2.50 requests of 131,072 tokens at once in 20 GiB (fp8, vLLM 0.30.0).\n",
    );
    expect(stdout).toContain("\nblock           16 tokens, 1,048,576 bytes\n");
    expect(stdout).toContain("\n131,072 tokens   8,192  8.00 GiB  2.50x\n");
    expect(stdout).toContain("\n30,000 + 32,000           3,875  3.78 GiB  4 (--max-num-seqs)\n");
    expect(stdout).not.toContain("whatever its length");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what is looked for
    expect(stdout).not.toMatch(/\u001b/);
  });

  it("says of an agent that is longer than the window that it is refused", async () => {
    const { stdout } = await kv(
      "--config",
      DENSE,
      "--available",
      "20GiB",
      "--max-model-len",
      "65536",
    );
    expect(stdout).toMatch(/^40,000 \+ 32,000 .* 0 \(longer than --max-model-len: HTTP 400\)$/m);
    expect(stdout).toMatch(/^30,000 \+ 32,000 .* 2 \(as much as the cache holds\)$/m);
  });
});

describe("exit code 1: the engine would not start, or nothing can be planned", () => {
  it("not one request fits: the whole plan is printed, with what would help", async () => {
    const { code, stdout } = await kv(
      "--config",
      DENSE,
      "--available",
      "4GiB",
      "--kv-cache-dtype",
      "fp8",
    );
    expect(code).toBe(1);
    expect(stdout).toContain("Does not fit: not one request of 131,072 tokens in 4 GiB");
    expect(stdout).toContain(
      "lower --max-model-len to at most 65520, or give the cache 4 GiB more.",
    );
  });

  it("no room at all", async () => {
    const { code, stdout } = await kv("--config", DENSE, "--available", "-1.75GiB", ...json);
    expect([code, JSON.parse(stdout).fits]).toEqual([1, false]);
    expect(JSON.parse(stdout).problems[0].code).toBe("no_room");
  });

  it("more sequences than blocks", async () => {
    const args = ["--config", HYBRID, "--available", "1GiB", "--max-model-len", "4096"];
    const many = await kv(...args, "--max-num-seqs", "400", ...json);
    expect([many.code, JSON.parse(many.stdout).fits, JSON.parse(many.stdout).starts]).toEqual([
      1,
      true,
      false,
    ]);
    expect((await kv(...args, "--max-num-seqs", "49")).code).toBe(0);
    expect((await kv(...args)).code).toBe(0);
  });

  const broken =
    '{\n  "num_hidden_layers": 0,\n  "num_attention_heads": "32",\n  "mamba_d_state": 128\n}\n';

  it("a broken config: every fault with its line, and no stack trace", async () => {
    const path = file("broken.json", broken);
    const { code, stdout, stderr } = await kv("--config", path, "--available", "1GiB");
    expect([code, stdout]).toEqual([1, ""]);
    expect(
      stderr
        .split("\n")
        .slice(0, 4)
        .map((line) => line.replaceAll(path, "config")),
    ).toEqual([
      "config: 3 faults",
      expect.stringMatching(/^ {2}config:4:20 mamba_d_state: Unknown architecture: /),
      expect.stringMatching(/^ {2}config:2:24 num_hidden_layers: Expected at least 1, got 0\./),
      expect.stringMatching(
        /^ {2}config:3:26 num_attention_heads: Expected a whole number, got text/,
      ),
    ]);
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  it("a broken config in json: one document, whose `fits` is neither true nor false", async () => {
    const { code, stdout } = await kv(
      "--config",
      file("broken.json", broken),
      "--available",
      "1GiB",
      ...json,
    );
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      fits: null,
      issues: [
        { path: "mamba_d_state", code: "unknown_architecture", severity: "error", line: 4 },
        { path: "num_hidden_layers", code: "out_of_range", line: 2 },
        { path: "num_attention_heads", code: "wrong_type", line: 3 },
      ],
    });
  });
});

describe("exit code 2: wrong use, or a file that can't be read", () => {
  it.each([
    [
      "no such file",
      ["--config", "/nowhere/config.json", "--available", "1GiB"],
      "/nowhere/config.json: no such file",
    ],
    [
      "no JSON",
      ["--config", file("comma.json", '{"a": 1,}'), "--available", "1GiB"],
      "comma.json:1:9: not valid JSON",
    ],
    [
      "an empty file",
      ["--config", file("empty.json", ""), "--available", "1GiB"],
      "empty.json:1:1: the file is empty",
    ],
    ["no config", ["--available", "1GiB"], "required option '--config <file>' not specified"],
    ["no size", ["--config", DENSE], "required option '--available <size>' not specified"],
    ["a size without its unit", ["--config", DENSE, "--available", "20G"], "such as 20GiB"],
    ["a size of no form", ["--config", DENSE, "--available", "much"], "such as 20GiB"],
    ["half a byte", ["--config", DENSE, "--available", "0.5"], "such as 20GiB"],
    [
      "an unknown format",
      ["--config", DENSE, "--available", "1GiB", "--kv-cache-dtype", "fp9"],
      "Allowed choices",
    ],
    ["no length", ["--config", DENSE, "--available", "1GiB", "--max-model-len", "0"], "at least 1"],
    [
      "no whole number",
      ["--config", DENSE, "--available", "1GiB", "--max-num-seqs", "4.5"],
      "whole number",
    ],
    [
      "no version",
      ["--config", DENSE, "--available", "1GiB", "--vllm-version", "new"],
      "such as 0.30.0",
    ],
    [
      "an unknown option",
      ["--config", DENSE, "--available", "1GiB", "--fast"],
      "unknown option '--fast'",
    ],
  ])("%s", async (_, args, message) => {
    const { code, stdout, stderr } = await kv(...args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(message);
  });

  it.each([
    ["21474836480", 21_474_836_480],
    ["20GiB", 21_474_836_480],
    ["20gib", 21_474_836_480],
    ["20 GiB", 21_474_836_480],
    ["6.67GiB", 7_161_857_966],
    ["512MiB", 536_870_912],
    ["20GB", 20_000_000_000],
    ["0", 0],
  ])("a size: %s", async (text, bytes) => {
    const { stdout } = await kv("--config", DENSE, "--available", text, ...json);
    expect(JSON.parse(stdout).availableBytes).toBe(bytes);
  });

  it("are refused as bare bytes that hold nothing, with what to write", async () => {
    const { code, stderr } = await kv("--config", DENSE, "--available", "20");
    expect(code).toBe(2);
    expect(stderr).toContain(
      "20 bytes are less than one block of the cache: write 20GiB, or the full number of bytes.",
    );
  });
});

describe("help and files", () => {
  it("shows an example", async () => {
    const { code, stdout } = await kv("--help");
    expect(code).toBe(0);
    expect(stdout).toContain("Example:\n  serving models kv --config models/");
  });

  it("reads the numbers that Python writes and JSON has not", async () => {
    const path = file(
      "nan.json",
      '{"num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 64, "x": [0.0, Infinity, NaN]}',
    );
    expect((await kv("--config", path, "--available", "1GiB", "--max-model-len", "64")).code).toBe(
      0,
    );
  });
});
