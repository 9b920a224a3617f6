import { launchesIn } from "../command/launch";
import { recipeCommand } from "../command/recipe";
import { refuseCommand } from "../command/words";
import type { PublishedKind } from "./kind";

export const sparkRecipe: PublishedKind = {
  kind: "a recipe",
  looksLike: ({ keys }) =>
    ["model", "command", "defaults", "recipe_version"].some((key) => keys.has(key)),
  servers(source) {
    const [file = {}] = source.documents();
    const { command, image, variables, leftOut } = recipeCommand(file);
    const { launches } = launchesIn(command);
    if (launches.length > 1)
      refuseCommand(`It starts ${launches.length} servers: give the command of one.`);
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
