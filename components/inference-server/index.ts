/**
 * The door of the inference servers: the part of a plan that describes one, and the parsers of each
 * family.
 */
export type { HubModel } from "./hubModels";
export { InferenceServer } from "./inferenceServer";
export {
  familyOf,
  familyParsers,
  namedFamily,
  otherFamily,
  parserByName,
  parserInstead,
  toolParserFor,
} from "./parsers";
export {
  type InferenceServerPlan,
  imageRecordInputs,
  imageRecordName,
  plannedServer,
  type ServerSurroundings,
  serverInputs,
  USUAL_VARIABLES,
} from "./plannedServer";
export { servedAdapters, servedNames } from "./serve";
export { gateFile, gateVolume, instanceAFromContainer, START_GATE, startsFile } from "./startGate";
