import { readdirSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import listed from "./equivalent.json";
import type { Mutant } from "./mutants";
import { Mutation } from "./mutation";

const ofFolder = (folder: string): string[] =>
  readdirSync(folder)
    .filter((file) => file.endsWith(".ts"))
    .map((file) => `${folder}/${file}`);

/**
 * The rules, and what reads containers and releases for them. What reads arguments, `packages/vllm/argv`, is
 * left out: property tests hold it.
 */
const FILES = [
  ...ofFolder("policies/rules"),
  ...ofFolder("policies/lib"),
  "policies/judge.ts",
  "components/supply/releases/releases.ts",
];

const keyOf = ({ file, within, from, to }: Omit<Mutant, "line">): string =>
  JSON.stringify([file, within, from, to]);

const equivalent: readonly (Omit<Mutant, "line"> & { readonly because: string })[] = listed;

describe("a small change of", () => {
  let mutation: Mutation;
  beforeAll(async () => {
    mutation = await Mutation.of(FILES);
  });

  it.each(FILES)(
    "%s fails a test, or is listed with the reason why it changes nothing",
    async (file) => {
      const { all, survived } = await mutation.survivors(file);
      console.log(`${file}: ${all.length} mutants, ${all.length - survived.length} caught`);
      // The same change of the same text may be in one function twice: then each has an entry.
      const noLongerThere = equivalent.filter((each) => each.file === file).map(keyOf);
      const unnoticed = survived.filter((mutant) => {
        const entry = noLongerThere.indexOf(keyOf(mutant));
        return entry < 0 || noLongerThere.splice(entry, 1).length === 0;
      });
      expect({ unnoticed, noLongerThere }).toEqual({ unnoticed: [], noLongerThere: [] });
    },
  );

  it("leaves nothing behind by which another would be judged", async () => {
    expect(await mutation.runAll()).toBeDefined();
  });

  it("is listed for these files alone, each with its reason", () => {
    expect(equivalent.filter(({ file }) => !FILES.includes(file))).toEqual([]);
    expect(equivalent.filter(({ because }) => because.length < 20)).toEqual([]);
  });
});
