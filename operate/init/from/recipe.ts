import { launchesIn, refuseSeveral } from "../command/launch";
import { recipeCommand } from "../command/recipe";
import type { PublishedKind } from "./kind";

export const sparkRecipe: PublishedKind = {
  kind: "a recipe",
  looksLike: ({ keys }) =>
    ["model", "command", "defaults", "recipe_version"].some((key) => keys.has(key)),
  servers(source) {
    const [file = {}] = source.documents();
    const { command, image, variables, leftOut } = recipeCommand(file);
    const { launches } = launchesIn(command);
    refuseSeveral(launches);
    return {
      servers: launches.map((launch) => ({
        name: "its command",
        launch: () => ({
          ...launch,
          ...(image === undefined ? {} : { image }),
          variables: new Map([...variables, ...launch.variables]),
          leftOut,
        }),
      })),
    };
  },
};
