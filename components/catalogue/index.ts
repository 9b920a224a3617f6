/** The door of the catalogue: the recipes of `models/`. */
export { readCatalogue, readRecipe } from "./readCatalogue";
export { type Recipe, recipe, sourceIssues, sourceOf } from "./recipe";
