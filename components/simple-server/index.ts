/** The door of Ollama. */
export type { HostSimpleServerPlan } from "./plannedSimpleServer";
export { ollamaModelName } from "./settings";
