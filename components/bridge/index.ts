/** The door of the bridge: what policies judge of a LiteLLM. */
export { MASTER_KEY_VARIABLE } from "./bridgeConfig";
export { onOtherMachine } from "./settings";
