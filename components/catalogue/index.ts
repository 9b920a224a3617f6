/** The door of the catalogue: the recipes of `models/`. */
export { closeIds } from "./closeIds";
export { readKnownStarts } from "./knownStarts";
export { isHubId, isNearly, type Meant, modelNamed, type NamedModel } from "./modelNames";
export { readCatalogue, readRecipe } from "./readCatalogue";
export { type Recipe, recipe, sourceIssues, sourceOf } from "./recipe";
