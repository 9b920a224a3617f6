import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  type AgentCall,
  agentReuse,
  reuseText,
  tokensFoundAgain,
} from "../../components/kv/prefixReuse";

/**
 * What vLLM's own scheduler found on loops of agents: `test/real/vllm/prefixReuse.py` drew and
 * drove them on vLLM 0.26.0, 0.30.0, 0.32.0 (builds for CPUs, whose scheduler is the same Python)
 * and 0.33.0 (the build for GPUs, without one); test/real/vllm/prefixReuse.test.ts repeats it.
 */
interface Recorded {
  readonly hybrid: boolean;
  readonly block: number;
  readonly chunk: number;
  readonly drafts: number;
  readonly shared: number;
  readonly calls: readonly AgentCall[];
  readonly engine?: { readonly prefix_match_unit: number };
  readonly found: Readonly<Record<string, readonly number[]>>;
}

const loops = readFileSync(join(__dirname, "prefixReuse.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Recorded);
const inBlocks = loops.filter(({ engine }) => engine === undefined);
const VERSIONS = ["0.26.0", "0.30.0", "0.32.0", "0.33.0"];

describe("tokens that calls find again", () => {
  it.each(VERSIONS)(
    "are those that the scheduler of vLLM %s found, on 200 loops and more",
    (vllmVersion) => {
      expect(inBlocks.length).toBeGreaterThanOrEqual(200);
      for (const { shared, calls, found, ...rules } of inBlocks) {
        expect(tokensFoundAgain({ ...rules, vllmVersion }, shared, calls)).toEqual(
          found[vllmVersion],
        );
      }
    },
  );

  it("with --prefix-match-unit are nearly all: two units at most are computed anew", () => {
    const fine = loops.filter(({ engine, shared }) => engine !== undefined && shared === 0);
    expect(fine).toHaveLength(16);
    for (const { calls, found, engine, drafts } of fine) {
      for (const version of drafts > 0 ? VERSIONS.slice(1) : VERSIONS) {
        const again = found[version]?.slice(1) ?? [];
        const lost = again.map((tokens, turn) => (calls[turn]?.[1] ?? 0) - tokens);
        expect(Math.max(...lost)).toBeLessThanOrEqual(2 * (engine?.prefix_match_unit ?? 0));
      }
    }
  });
});

const GB10 = { hybrid: true, block: 2096, chunk: 8192, drafts: 0, vllmVersion: "0.30.0" };

describe("what a turn of an agent finds of its last prompt", () => {
  it.each([
    ["a hybrid model", {}, "97 %, at worst 94 %"],
    ["with draft tokens", { drafts: 2 }, "92 %, at worst 87 %"],
    ["with draft tokens, a smaller block", { drafts: 2, block: 1568 }, "93 %, at worst 91 %"],
    [
      "with draft tokens, a smaller block, 0.33",
      { drafts: 2, block: 1568, vllmVersion: "0.33.0" },
      "97 %, at worst 95 %",
    ],
    ["with draft tokens, 0.33", { drafts: 2, vllmVersion: "0.33.0" }, "97 %, at worst 94 %"],
    ["a dense model", { hybrid: false, block: 16 }, "100 %, at worst 100 %"],
    ["chunks shorter than a block", { chunk: 2048 }, "97 %, at worst 94 %"],
  ])("%s: %s", (_, more, expected) => {
    expect(reuseText(agentReuse({ ...GB10, ...more }))).toBe(expected);
  });

  it("in finer steps is nearly all, with draft tokens from 0.30 on", () => {
    const fine = (more: object) => reuseText(agentReuse({ ...GB10, ...more }).inFineSteps);
    expect(fine({})).toBe("99 %, at worst 99 %");
    expect(fine({ drafts: 2 })).toBe("99 %, at worst 99 %");
    expect(fine({ drafts: 2, vllmVersion: "0.26.0" })).toBe("92 %, at worst 87 %");
    expect(reuseText(agentReuse({ ...GB10, drafts: 2 }, 16))).toBe("99 %, at worst 99 %");
  });

  it("is little where the first versions never schedule a block that is wider than a chunk", () => {
    expect(reuseText(agentReuse({ ...GB10, chunk: 2048, vllmVersion: "0.26.0" }))).toBe(
      "0 %, at worst 0 %",
    );
  });
});
