import { defined } from "@local-serving/base/faults/defined";
import { containerFacts } from "../command/dockerOptions";
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
    const { command, image, volumes, variables, leftOut } = recipeCommand(file);
    // sparkrun starts the container on the machine's own network.
    const inside = containerFacts(volumes.map((value) => ({ name: "volume", value })));
    const container =
      volumes.length === 0 ? undefined : { ...inside, variables, isOnHost: true as const };
    const starts = launchesIn(command);
    return serversOf({ ...starts, documents: [] }, ({ line: _, ...launch }) => ({
      ...launch,
      ...defined({ image, container: launch.container ?? container }),
      variables: new Map([...variables, ...launch.variables]),
      leftOut,
    }));
  },
};
