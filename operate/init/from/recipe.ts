import { launchesIn } from "../command/launch";
import { recipeCommand } from "../command/recipe";
import type { PublishedKind } from "./kind";
import { serversOf } from "./shell";
import { hasModelMap } from "./source";

export const sparkRecipe: PublishedKind = {
  kind: "a recipe",
  looksLike: (source) =>
    ["model", "command", "defaults", "recipe_version"].some((key) => source.keys.has(key)) &&
    !hasModelMap(source),
  servers(source) {
    const [file = {}] = source.documents();
    const { command, image, variables, leftOut } = recipeCommand(file);
    const { launches } = launchesIn(command);
    return serversOf({ launches, documents: [] }, ({ line: _, ...launch }) => ({
      ...launch,
      ...(image === undefined ? {} : { image }),
      variables: new Map([...variables, ...launch.variables]),
      leftOut,
    }));
  },
};
