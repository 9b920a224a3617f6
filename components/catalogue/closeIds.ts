import type { Evidence } from "../planned";
import type { StackSettings } from "../settings";
import { isHubId, isNearly } from "./modelNames";
import { readCatalogue } from "./readCatalogue";

/** The models of the catalogue that were probably meant by ids of which nothing was found. */
export function closeIds(
  settings: StackSettings,
  { models = {} }: Evidence,
  project: string,
): NonNullable<Evidence["closeIds"]> {
  const servers = Object.values(settings.machines).flatMap((machine) =>
    Object.values(machine.inferenceServers),
  );
  const unknown = servers.flatMap(({ model: { id, inImage } }) =>
    inImage === undefined && isHubId(id) && !Object.hasOwn(models, id) ? [id] : [],
  );
  if (unknown.length === 0) return {};
  const recipes = readCatalogue(project);
  return Object.fromEntries(
    unknown.flatMap((id) => {
      const closest = recipes.find((each) => isNearly(id, each.id));
      return closest === undefined ? [] : [[id, closest.id] as const];
    }),
  );
}
