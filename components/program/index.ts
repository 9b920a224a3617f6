/** The door of the Pulumi program. */
export { declareMachines } from "./declareMachines";
export { WAITS_VARIABLE } from "./runningRequests";
export { stackInForce } from "./stackInForce";
export { tellingBugs } from "./tellingBugs";
