import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SIGNS } from "../../../../cli/rules/registry";
import { scanLog } from "../../../../cli/sees/log/scanLog";
import { RAISED, READY, sign, startSign, TROUBLE } from "../../../../cli/sees/log/sign";
import { heldMemory } from "../../../layers/heldMemory";

const ABOUT = { name: "test", kind: "file" } as const;
const MIB = 1024 ** 2;
const FAULT = sign("the fault", /the fault number (\d+)/);

const REFUSAL =
  "ValueError: Free memory on device cuda:0 (50.10/121.63 GiB) on startup is less than desired GPU memory utilization (0.45, 54.73 GiB).\n";

/** A server's ordinary line; every ten seconds one like it. */
const ORDINARY =
  "(APIServer pid=1) INFO 11-21 09:20:02 [loggers.py:248] Engine 000: Avg prompt throughput: 431.0 tokens/s, GPU KV cache usage: 1.2%, Prefix cache hit rate: 61.8%\n";

const OPENS = "start gate: open after 0 s, 99.00 GiB are available\n";
const UP = "INFO: Application startup complete.\n";

describe("a log of any size", () => {
  it("of 30 MB is read to its end in bounded time and memory", async () => {
    const block = Buffer.from(ORDINARY.repeat(Math.ceil(MIB / ORDINARY.length)));
    const before = heldMemory();
    const held: number[] = [];
    const processorSeconds = () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    };
    let half = 0;
    function* stream() {
      for (let sent = 0; sent < 30 * MIB; sent += block.length) {
        if (sent % (3 * MIB) < block.length) held.push(heldMemory());
        if (half === 0 && sent >= 15 * MIB) half = processorSeconds();
        yield block;
      }
      yield Buffer.from(REFUSAL);
    }
    const started = processorSeconds();
    const log = await scanLog(ABOUT, stream(), SIGNS, { seconds: 100 });
    const ended = processorSeconds();
    const hit = [...log.hits.values()].find(
      ({ groups }) => groups.length === 4 && groups[0] !== "",
    );
    expect(hit?.groups).toEqual(["50.10", "121.63", "0.45", "54.73"]);
    expect(hit?.lineNumber).toBeGreaterThan(180_000);
    expect(log.cutShort).toBeUndefined();
    // The second half takes as long as the first one, on a busy machine too; reading that kept what
    // it read would take ever longer.
    expect(ended - half).toBeLessThan(4 * (half - started));
    expect(held.length).toBeGreaterThanOrEqual(9);
    expect(Math.max(...held) - before).toBeLessThan(20 * MIB);
  }, 120_000);

  it("in one line without an end is looked at from its front", async () => {
    const endless = function* () {
      yield "the fault number 1 ";
      for (let sent = 0; sent < 20; sent++) yield "x".repeat(MIB);
      yield "\nthe fault number 2\n";
    };
    const { hits, lines } = await scanLog(ABOUT, endless(), [FAULT]);
    expect(hits.get(FAULT)).toMatchObject({ count: 2, groups: ["2"] });
    expect(lines).toBeLessThan(5);
  });

  it("without any end is left after the given time, and the result says so", async () => {
    async function* forever() {
      for (;;) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        yield ORDINARY;
      }
    }
    const { cutShort } = await scanLog(ABOUT, forever(), SIGNS, { seconds: 0.2 });
    expect(cutShort).toMatch(/^stopped after 0.2 s, at line \d+$/);
  });

  it("that falls silent is left as well", async () => {
    async function* silent() {
      yield "the fault number 1\n";
      await new Promise(() => {});
    }
    const { cutShort, hits } = await scanLog(ABOUT, silent(), [FAULT], { seconds: 0.2 });
    expect(cutShort).toBe("stopped after 0.2 s, at line 1");
    expect(hits.get(FAULT)?.count).toBe(1);
  });

  it("that is not text does no harm", async () => {
    const garbage = [randomBytes(3 * MIB), Buffer.from("\nthe fault number 7\n"), randomBytes(MIB)];
    const { hits } = await scanLog(ABOUT, garbage, [...SIGNS, FAULT]);
    expect(hits.get(FAULT)?.line).toBe("the fault number 7");
  });

  it("is read the same however it is cut into pieces", async () => {
    const text = `a\nthe fault number 3\nb ä ö ü the fault number 4 €\n${READY.literals[0]}\nthe fault number 5`;
    const bytes = Buffer.from(text);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 12 }),
        async (cuts) => {
          const at = [0, ...cuts.sort((a, b) => a - b), bytes.length];
          const pieces = at.slice(1).map((end, index) => bytes.subarray(at[index], end));
          const { hits } = await scanLog(ABOUT, pieces, [FAULT]);
          expect(hits.get(FAULT)).toMatchObject({
            count: 3,
            groups: ["5"],
            line: "the fault number 5",
          });
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe("a hit", () => {
  it("keeps the newest line, or the one with the largest number where that is asked for", async () => {
    const largest = sign("rate", /rate (\d+)/, { keep: "largest" });
    const lines = ["rate 3\n", "rate 60\n", "rate 7\n"];
    expect((await scanLog(ABOUT, lines, [largest])).hits.get(largest)).toMatchObject({
      groups: ["60"],
      count: 3,
    });
    const newest = startSign("rate", /rate (\d+)/);
    expect((await scanLog(ABOUT, lines, [newest])).hits.get(newest)).toMatchObject({
      groups: ["7"],
      count: 3,
    });
  });

  it.each([
    ["failed, then another start that has not got far", [REFUSAL, OPENS, ORDINARY], true],
    ["failed, then two that have not got far", [REFUSAL, OPENS, ORDINARY, OPENS], true],
    ["failed, then another that is up", [REFUSAL, OPENS, UP], false],
    [
      "failed, then another that failed otherwise",
      [REFUSAL, OPENS, "OSError: No space left\n"],
      false,
    ],
    ["failed, but its server was up later, then another start", [REFUSAL, OPENS, UP, OPENS], false],
  ])(
    "of a start counts until the next one is up or fails: one that %s",
    async (_, lines, counts) => {
      const { hits } = await scanLog(ABOUT, [OPENS, ...lines], SIGNS);
      expect([...hits.values()].some(({ line }) => line === REFUSAL.trim())).toBe(counts);
    },
  );

  it("is no error that a warning of vLLM only names", async () => {
    const ulimit =
      "(APIServer pid=13) WARNING 11-22 11:23:43 [system_utils.py:299] Found ulimit of 20000 and failed to automatically increase with error current limit exceeds maximum limit. This can cause fd limit errors like `OSError: [Errno 24] Too many open files`. Consider increasing with ulimit -n\n";
    expect((await scanLog(ABOUT, [ulimit], SIGNS)).hits.size).toBe(0);
    const raised = "OSError: [Errno 24] Too many open files\n";
    expect((await scanLog(ABOUT, [raised], [TROUBLE, RAISED])).hits.size).toBe(2);
  });

  it("is not looked for in a prompt that the server logged", async () => {
    const line =
      "INFO [logger.py:43] Received request chatcmpl-1: prompt: 'why is the fault number 3 there?'\n";
    expect((await scanLog(ABOUT, [line], [FAULT])).hits.has(FAULT)).toBe(false);
  });

  it("shows a window of a long line, around the sign", async () => {
    const line = `${"a ".repeat(5000)}the fault number 3${" b".repeat(5000)}\n`;
    const shown = (await scanLog(ABOUT, [line], [FAULT])).hits.get(FAULT)?.line ?? "";
    expect(shown).toContain("the fault number 3");
    expect(shown.length).toBeLessThan(420);
  });
});

describe("patterns", () => {
  it("take linear time on lines made to be hard", async () => {
    const hard = [
      `"content": "${"\\n".repeat(30_000)}<tool_call`,
      `"reasoning": "${"<tool".repeat(12_000)}`,
      `input_text ${"1 validation error ".repeat(3_000)}`,
      `"stop_reason": "end_turn" ${"<tool_cal".repeat(6_000)}`,
      `EHOSTUNREACH ${"1.2.3.".repeat(10_000)}`,
      `thinking ${"400 unknown ".repeat(5_000)}`,
      `address already in use ${":11".repeat(20_000)}`,
      `nvcc ${"[1/2] ".repeat(10_000)} ninja exit code 13`,
      `token=${"a=".repeat(30_000)} the fault number 1 error: ERROR`,
    ].map((line) => `${line}\n`);
    await scanLog(ABOUT, hard, [...SIGNS, FAULT]);
  });
});
