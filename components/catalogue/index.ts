/** The door of the catalogue: the recipes of `models/`. */
export { closeIds } from "./closeIds";
export { disputedBy } from "./disputed";
export { readKnownStarts, STARTS } from "./knownStarts";
export { isHubId, isNearly, type Meant, modelNamed, type NamedModel } from "./modelNames";
export { modelFiles, readCatalogue, readRecipe } from "./readCatalogue";
export { type Recipe, recipe, sourceIssues, sourceOf } from "./recipe";
