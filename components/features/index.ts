/** The door of features: every one that a server can have. */
export { FEATURES } from "./registry";
