/** The door of models on demand: how llama-swap's program comes to a machine. */
export { askingContainers, onDemandListener, onRequestKeys } from "./listener";
export { OnDemand } from "./onDemand";
export { onDemandInputs } from "./onDemandInputs";
export {
  ON_DEMAND_MEMORY,
  onDemandKeyPath,
  onDemandResource,
  plannedOnDemand,
} from "./plannedOnDemand";
export { partOfArchive, programWords } from "./programOnMachine";
export { onDemand } from "./settings";
export { onDemandWarnings } from "./warnings";
