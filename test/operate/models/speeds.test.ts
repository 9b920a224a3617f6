import { describe, expect, it } from "vitest";
import { readCatalogue, readRecipe } from "../../../components/catalogue/readCatalogue";
import type { Recipe } from "../../../components/catalogue/recipe";
import { loadStackFile } from "../../../components/settings/load";
import { fitModel, withModel } from "../../../operate/models/fit";
import { aloneIn, leavesOf, type Seat } from "../../../operate/models/seat";
import { serverValues } from "../../../operate/models/serverValues";
import { conditionsOf, shownSpeed, speedCell, speedsHere } from "../../../operate/models/speeds";

const recipes = readCatalogue(process.cwd());
const known = recipes.map((recipe) => [recipe.id, recipe] as const);
const from = { basis: "published", source: "somebody", date: "2026-11-22" } as const;
const speed = (tokensPerSecond: number, more: Partial<Recipe["speeds"][number]> = {}) => ({
  what: "decode" as const,
  tokensPerSecond,
  ...from,
  ...more,
});

describe("the speed that is shown", () => {
  it.each([
    ["that without drafts, though another is larger", [speed(9, { drafts: 2 }), speed(4)], 0, "4"],
    ["that with as many drafts", [speed(4), speed(9, { drafts: 2 })], 2, "9"],
    ["another number of drafts, which it names", [speed(9, { drafts: 3 })], 2, "9 with 3 drafts"],
    ["one without drafts, where drafts are written", [speed(4)], 2, "4 with no drafts"],
    [
      "the first, where none is of what is written",
      [speed(5, { with: "x" }), speed(9, { drafts: 1, with: "y" })],
      0,
      "5 with x",
    ],
    [
      "all that differs",
      [speed(9, { drafts: 3, with: "vLLM 0.28" })],
      0,
      "9 with vLLM 0.28, 3 drafts",
    ],
    ["none of prompts", [speed(4000, { what: "prefill" })], 0, undefined],
  ] as const)("is %s", (_, speeds, drafts, cell) => {
    const shown = shownSpeed(speeds, drafts);
    expect(shown && speedCell(shown)).toBe(cell);
    expect(shown?.asWritten).toBe(cell && !cell.includes("with"));
  });

  it.each(known)("%s: is of what is written, or names what it isn't", (_, recipe) => {
    for (const drafts of [false, true]) {
      const values = serverValues(recipe, { beside: false, drafts });
      const written = values.find(({ path }) => path.join(".") === "speculative")?.value;
      const count = Number(Object(written).numSpeculativeTokens ?? 0);
      const shown = shownSpeed(recipe.speeds, count);
      const decode = recipe.speeds.filter(({ what }) => what === "decode");
      const isOf = (each: Recipe["speeds"][number]) =>
        each.with === undefined && (each.drafts ?? 0) === count;
      expect(shown?.asWritten).toBe(decode[0] && decode.some(isOf));
      if (shown === undefined) continue;
      expect(decode).toContainEqual(expect.objectContaining({ source: shown.source }));
      if (shown.asWritten) expect(isOf(shown)).toBe(true);
      else expect(speedCell(shown)).toContain(` with ${conditionsOf(shown) || "no drafts"}`);
    }
  });

  it.each(known)("%s: a speed has no range or guess among its conditions", (_, { speeds }) => {
    // A list would take it for something that `use` doesn't write.
    for (const { with: how = "" } of speeds)
      expect(how).not.toMatch(/\d to \d|^about|^\d+ drafts?/);
  });
});

const project = process.cwd();
const sample = loadStackFile("Pulumi.dgx.yaml");
const place = { machine: "dgx", server: "b", project };
const bare = { settings: sample, ...place, leaves: [] };

/** A seat whose server has just a recipe's values, some of them changed, and was measured. */
function measured(recipe: Recipe, changes: Record<string, unknown> = {}): Seat {
  const seat = aloneIn({ ...bare, leaves: leavesOf(bare) });
  const { machines } = withModel(seat, fitModel(recipe, seat).values);
  const dgx = machines.dgx;
  const b = dgx?.inferenceServers.b;
  if (dgx === undefined || b === undefined) throw new Error("no server b");
  const speeds = { prefill: 2000, decode: 61.2, at: "2026-11-28", image: b.image };
  const inferenceServers = { b: { ...b, measuredSpeeds: speeds, ...changes } };
  const settings = { machines: { dgx: { ...dgx, inferenceServers } } };
  return { settings, ...place, leaves: leavesOf({ settings, ...place }) };
}

describe("a speed that was measured here", () => {
  const recipe = readRecipe(project, "nvidia/Qwen3.6-35B-A3B-NVFP4");
  const cellOf = (changes?: Record<string, unknown>) => {
    if (recipe === undefined) throw new Error("no recipe");
    const seat = measured(recipe, changes);
    const own = speedsHere(fitModel(recipe, seat), seat);
    const shown = shownSpeed([...own, ...recipe.speeds]);
    return [shown && speedCell(shown), own.length];
  };

  it("stands first, and names what `use` would change of it", () => {
    expect(cellOf()).toEqual(["61.2", 2]);
    expect(cellOf({ servedModelName: "mine", maxNumSeqs: 2 })).toEqual(["61.2", 2]);
    expect(cellOf({ speculative: { method: "mtp", numSpeculativeTokens: 3 } })).toEqual([
      "61.2 with 3 drafts",
      2,
    ]);
    expect(cellOf({ moeBackend: "cutlass", extraArgs: ["--block-size=16"] })).toEqual([
      "61.2 with this stack file's moeBackend, extraArgs",
      2,
    ]);
    // What the file leaves to vLLM may be just what the recipe writes.
    expect(cellOf({ moeBackend: undefined, environment: {} })).toEqual(["61.2", 2]);
  });

  it("is none of another image's or model's", () => {
    expect(cellOf({ image: "vllm/vllm-openai:v0.33.0" })).toEqual([
      "97.7 with vLLM 0.28, 3 drafts",
      0,
    ]);
    const [other] = recipes.filter(({ id }) => id !== recipe?.id);
    const seat = recipe && measured(recipe);
    expect(other && seat && speedsHere(fitModel(other, seat), seat)).toEqual([]);
  });
});
