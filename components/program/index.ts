/** The door of the Pulumi program. */
export { declareMachines } from "./declareMachines";
export { untilIdle, WAITS_VARIABLE } from "./runningRequests";
export { stackInForce } from "./stackInForce";
export { tellingBugs } from "./tellingBugs";
