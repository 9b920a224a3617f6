/** The door of Ollama. */
export type { HostSimpleServerPlan, SimpleServerPlan } from "./plannedSimpleServer";
export { simpleServer } from "./service";
export { INTEGRATED, ollamaModelName, type SimpleServerSettings } from "./settings";
export { SimpleServer } from "./simpleServer";
