/** The door of a machine: its resources as data, as policies judge them. */
export { declaredResources } from "./declaredResources";
