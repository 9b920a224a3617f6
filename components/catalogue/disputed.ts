import { valueAt } from "@local-serving/base/faults/schemaFaults";
import type { Disputed } from "../planned";
import { type Recipe, sourceOf } from "./recipe";

/** Keys of a recipe that are called otherwise in a server's block. */
const RENAMED: Readonly<Record<string, string>> = {
  draft: "speculative",
  "parsers.tool": "tools.parser",
  "parsers.reasoning": "reasoningParser",
};

/** The setting of a server that a recipe's key gives; `undefined` for a key that gives none. */
const settingOf = (key: string): string | undefined =>
  RENAMED[key] ?? /^settings\.(\w+)$/.exec(key)?.[1];

/** The settings of a recipe that were reported against, with both sources. */
export function disputedBy(recipe: Recipe): Disputed[] {
  return recipe.against.flatMap(({ of, what, upTo, source, date }) => {
    const setting = settingOf(of);
    const own = sourceOf(recipe, of);
    if (setting === undefined || own === undefined) return [];
    // How many tokens a step drafts are, doesn't make another method of them.
    const value =
      of === "draft" ? { method: recipe.draft?.method } : valueAt(recipe, of.split("."));
    return [
      {
        setting,
        value,
        against: `${what} (${source}, ${date})`,
        for: `${own.basis}: ${own.source} (${own.date})`,
        ...(upTo === undefined ? {} : { upTo }),
      },
    ];
  });
}
