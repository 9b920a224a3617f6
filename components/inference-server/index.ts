/**
 * The door of the inference servers: the part of a plan that describes one, and the parsers of each
 * family.
 */
export {
  familyOf,
  familyParsers,
  namedFamily,
  parserByName,
  parserInstead,
  toolParserFor,
} from "./parsers";
export { type InferenceServerPlan, imageRecordName, USUAL_VARIABLES } from "./plannedServer";
export { START_GATE, startsFile } from "./startGate";
