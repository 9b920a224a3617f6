import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { AskedServer } from "../../components/memory/starts/likeness";
import {
  type ModelClass,
  type ModelStarts,
  type SeenStart,
  seenStartSchema,
} from "../../components/planned/schema/seenStart";
import { judged, KNOWN, vectorOf } from "../fixtures/judgedStarts";

/** A start that no range rests on; its window is by vLLM's own lines, else by the model's config. */
interface HeldOut extends Omit<ModelStarts, "starts"> {
  readonly id: string;
  readonly windowGiB: number | null;
  readonly start: object;
}

const { vectors }: { vectors: readonly HeldOut[] } = JSON.parse(
  readFileSync("test/memory/heldOutStarts.json", "utf8"),
);

const HELD_OUT = vectors.map((each) => ({ ...each, start: seenStartSchema.parse(each.start) }));

const JUDGED = HELD_OUT.flatMap(({ id, start, windowGiB, ...model }) => {
  const vector = vectorOf(model, start);
  if (vector === undefined) return [];
  const { asked, utilization, charged } = vector;
  const { kvCacheMemoryBytes: bytes, availableKvGiB: available, outcome, memory } = start;
  const found = judged(asked, utilization, {
    ...{ model: model.model, windowGiB: windowGiB ?? 0.1 },
    ...(bytes === null ? {} : { cacheGiB: bytes / 2 ** 30 }),
  });
  const { low, high } = found.chargedGiB;
  const isWithin =
    charged === undefined ? undefined : charged >= low - 0.01 && charged <= high + 0.01;
  const spareGiB =
    charged === undefined || available === null || windowGiB === null
      ? undefined
      : Math.abs(available - windowGiB);
  return [{ ...found, id, outcome, memory, class: model.class, isWithin, spareGiB }];
});

const ids = (some: readonly { readonly id: string }[]) => some.map(({ id }) => id);

/** The middle one of the widths in GiB; of two, the larger. */
function median(some: typeof JUDGED): number | undefined {
  const widths = some.map(({ chargedGiB: { low, high } }) => high - low).sort((a, b) => a - b);
  const middle = widths[Math.floor(widths.length / 2)];
  return middle === undefined ? undefined : Math.round(middle * 10) / 10;
}

describe("starts that were held out of the catalogue", () => {
  it("are 30, by nobody whose starts it knows, and 7 lack weights, total or share", () => {
    const known = new Set(KNOWN.flatMap(({ starts }) => starts.map(({ author }) => author)));
    expect(HELD_OUT.filter(({ start }) => known.has(start.author))).toEqual([]);
    expect([HELD_OUT.length, JUDGED.length]).toEqual([30, 23]);
  });

  it("that came up are never said to be unable to", () => {
    const started = JUDGED.filter(({ outcome }) => outcome === "started");
    expect(started).toHaveLength(15);
    expect(ids(started.filter(({ verdict }) => verdict === "cannot start"))).toEqual([]);
  });

  it("that lacked room for their cache are never said to start", () => {
    const failed = JUDGED.filter(({ outcome }) => outcome === "no-kv-room");
    expect(failed.map(({ verdict }) => verdict)).toEqual(["may start", "may start", "may start"]);
  });

  it("that failed otherwise aren't either, but for one whose share wasn't free", () => {
    const failed = JUDGED.filter(({ outcome }) => outcome === "failed-otherwise");
    expect(failed).toHaveLength(5);
    expect(ids(failed.filter(({ verdict }) => verdict === "starts"))).toEqual([
      "spark-lightning-0.80-admission",
    ]);
  });

  it("lie in the range for 11 of 13, on unified memory for 7 of 9", () => {
    const measured = JUDGED.filter(({ isWithin }) => isWithin !== undefined);
    const unified = measured.filter(({ memory }) => memory === "unified");
    const [all, there] = [measured, unified].map((some) => [
      some.filter(({ isWithin }) => isWithin).length,
      some.length,
    ]);
    expect([all, there]).toEqual([
      [11, 13],
      [7, 9],
    ]);
    expect(ids(measured.filter(({ isWithin }) => isWithin === false))).toEqual([
      "spark-maci0-dsv4-0.89",
      "halo-kabayan-cosmos3-0.75",
    ]);
  });

  it("with 3 GiB to spare are left open for 3 of 10", () => {
    const clear = JUDGED.filter(({ spareGiB = 0 }) => spareGiB >= 3);
    const open = clear.filter(({ verdict }) => verdict === "may start");
    expect([open.length, clear.length]).toEqual([3, 10]);
  });

  it("have ranges half of which are narrower than 8 GiB for MLA alone", () => {
    const classes: ModelClass[] = ["dense", "moe", "hybrid", "mla"];
    const widths = classes.map((its) => median(JUDGED.filter((each) => each.class === its)));
    expect(widths).toEqual([28.5, 28.5, 28.5, 6.8]);
    // Three independent sources are known for these two classes alone, each with drafts.
    const byClass = JUDGED.filter(({ basis }) => basis === "class");
    expect(new Set(byClass.map((each) => each.class))).toEqual(new Set(["hybrid", "mla"]));
    expect(median(byClass.filter((each) => each.class === "hybrid"))).toBe(14.6);
  });
});

const FLASH_NEXT: AskedServer = {
  device: "gb10",
  memory: "unified",
  totalGiB: 121.69,
  vllm: undefined,
  loader: "b12x",
  maxNumBatchedTokens: 4096,
  drafts: true,
  gpus: 1,
  weightsGiB: 100.59,
  class: "hybrid",
};
const SMALLER = { ...FLASH_NEXT, weightsGiB: 73.97, drafts: false, maxNumBatchedTokens: 2048 };
const MINIMAX: AskedServer = {
  ...FLASH_NEXT,
  vllm: "0.29.1",
  loader: "auto",
  maxNumBatchedTokens: 8192,
  drafts: false,
  gpus: 2,
  weightsGiB: undefined,
  class: "moe",
};

const isReported = ({ author }: SeenStart): boolean => author === "eugr396";

describe("two failures that users of one recipe collection reported", () => {
  it.each<[string, AskedServer, number, number]>([
    ["Flash-Next at 0.8 with 100.59 GiB of weights", FLASH_NEXT, 0.8, 0.1],
    ["Flash-Next at 0.65 with 73.97", SMALLER, 0.65, 0.1],
    ["MiniMax-M2.7 at 0.8, weights not known", MINIMAX, 0.8, 23.25],
    [
      "MiniMax-M2.7 at 0.8, taken for 57 of 4-bit weights",
      { ...MINIMAX, weightsGiB: 57 },
      0.8,
      23.25,
    ],
  ])("%s", (_, asked, share, windowGiB) => {
    const model = asked.gpus === 2 ? "minimax-m2.7-awq" : "Qwen3.8-Flash-Next-NVFP4";
    const known = judged(asked, share, { model, windowGiB });
    const unseen = judged(asked, share, { model, windowGiB, without: isReported });
    expect([known.verdict, unseen.verdict]).not.toContain("starts");
  });
});
