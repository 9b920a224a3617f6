/** The door of features: every one that a server can have. */
export { FEATURES } from "./registry";
export { machineKeys, serverKeys } from "./settings";
