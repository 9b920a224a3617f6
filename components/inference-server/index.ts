/** The door of the inference servers: what a plan has of one, and the parsers of each family. */
export { familyOf, familyParsers, toolParserFor } from "./parsers";
export { type InferenceServerPlan, imageRecordName } from "./plannedServer";
