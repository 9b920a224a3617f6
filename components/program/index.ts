/** The door of the Pulumi program. */
export { declareMachines } from "./declareMachines";
export { SKIPS_PREVIEW } from "./engineCommand";
export { LocalServing, type LocalServingArgs, Serving } from "./localServing";
export { untilIdle, WAITS_VARIABLE } from "./runningRequests";
export { stackInForce } from "./stackInForce";
export { tellingBugs } from "./tellingBugs";
