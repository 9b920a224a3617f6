/** The door of the preflight: what it judges, for those who look at a machine at other times. */
export { connectionProblem, whyNot } from "./connection";
export { hostInstanceFindings, judgeMachine } from "./judgeMachine";
export { oursOn } from "./ourContainers";
export { recordPathOf } from "./preflight";
export { askOllama, OLLAMA_URL } from "./readSimpleServer";
export type { MachineFacts } from "./types";
