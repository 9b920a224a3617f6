/**
 * The door of the preflight: its judgements, for commands that look at a machine at other times.
 */
export { readBootIds } from "./bootIds";
export { connectionProblem, whyNot } from "./connection";
export { hostInstanceFindings } from "./judgeHostInstance";
export { judgeMachine, noEngineText } from "./judgeMachine";
export {
  type OtherStack,
  type Own,
  readOtherPlans,
  readOtherStack,
  tellOtherStack,
} from "./otherStack";
export { oursOn } from "./ourContainers";
export { preflight, recordPathOf } from "./preflight";
export { askOllama, OLLAMA_URL } from "./readSimpleServer";
export type { MachineFacts, UpdateFinding } from "./types";
export { exportOf, exportsFor } from "./variables";
