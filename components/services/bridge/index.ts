/** The door of the bridge: what policies judge of a LiteLLM, and what its figures are called. */
export { CLIENT_LABEL, MASTER_KEY_VARIABLE } from "./bridgeConfig";
export type { BridgePlan } from "./plannedBridge";
export { bridge } from "./service";
export { onOtherMachine } from "./settings";
