import { describe, expect, it } from "vitest";
import { agentReuse } from "../prefixReuse";
import table from "../prefixReuse.json";

const GB10 = { hybrid: true, block: 2096, chunk: 8192, drafts: 0, vllmVersion: "0.30.0" };
const WHOLE = { usual: 0.9781333333333333, least: 0.9465806451612904 };
const BACK = { usual: 0.92224, least: 0.8789677419354839 };

/** In whole percents, rounded down. */
const percents = (shares: { readonly usual: number; readonly least: number } | null) =>
  shares && [Math.floor(100 * shares.usual), Math.floor(100 * shares.least)];

describe("what a turn of an agent finds of its last prompt", () => {
  it.each<[string, object, number[] | null]>([
    ["a hybrid model", {}, [97, 94]],
    ["a hybrid model, before 0.30", { vllmVersion: "0.26.0" }, [97, 94]],
    ["with draft tokens", { drafts: 2 }, [92, 87]],
    ["with draft tokens, a smaller block", { drafts: 2, block: 1568 }, [93, 91]],
    [
      "with draft tokens, a smaller block, 0.33",
      { drafts: 2, block: 1568, vllmVersion: "0.33.0" },
      [97, 95],
    ],
    ["with draft tokens, 0.33", { drafts: 2, vllmVersion: "0.33.0" }, [97, 94]],
    ["a dense model", { hybrid: false, block: 16 }, [100, 100]],
    ["a dense model with draft tokens", { hybrid: false, block: 16, drafts: 2 }, [100, 100]],
    ["chunks shorter than a block", { chunk: 2048 }, [97, 94]],
    ["a block between two of the table", { block: 2110 }, [97, 94]],
    ["a block wider than those of the table", { block: 8336 }, null],
    [
      "chunks shorter than a block, which the first versions never schedule",
      { chunk: 2048, vllmVersion: "0.26.0" },
      [0, 0],
    ],
  ])("%s", (_, more, expected) => {
    expect(percents(agentReuse({ ...GB10, ...more }))).toEqual(expected);
  });

  it("in finer steps is nearly all, with draft tokens from 0.30 on", () => {
    const fine = (more: object) => percents(agentReuse({ ...GB10, ...more })?.inFineSteps ?? null);
    expect(fine({})).toEqual([99, 99]);
    expect(fine({ drafts: 2 })).toEqual([99, 99]);
    expect(fine({ drafts: 2, vllmVersion: "0.26.0" })).toEqual([92, 87]);
    expect(percents(agentReuse({ ...GB10, drafts: 2 }, 16))).toEqual([99, 99]);
    expect(percents(agentReuse({ ...GB10, drafts: 2 }, 1024))).toEqual([94, 93]);
  });

  it("is to the last digit what was counted, so that no applied plan changes", () => {
    expect(agentReuse(GB10)).toMatchObject(WHOLE);
    expect(agentReuse({ ...GB10, drafts: 2 })).toMatchObject(BACK);
    expect(agentReuse(GB10, 16)).toEqual({
      usual: 0.9991466666666666,
      least: 0.9989333333333333,
      inFineSteps: { usual: 0.9991466666666666, least: 0.9989333333333333 },
    });
  });
});

it("the table goes by blocks of growing width, and giving one back never finds more", () => {
  const blocks = table.hybrid.map(([block = 0]) => block);
  expect(blocks).toEqual([...new Set(blocks)].sort((a, b) => a - b));
  for (const [, usual = 0, least = 0, usualBack = 2, leastBack = 2] of table.hybrid) {
    expect([usual >= usualBack, least >= leastBack, usual <= 1]).toEqual([true, true, true]);
    expect([usual >= least, usualBack >= leastBack]).toEqual([true, true]);
  }
});
