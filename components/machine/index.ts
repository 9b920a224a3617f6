/** The door of a machine: its resources as data, as policies judge them, and whether its servers start. */
export { batchFaults } from "./batchFaults";
export { declaredResources } from "./declaredResources";
export { plannedStart, type StartVerdict } from "./plannedStart";
export { type Asked, isTooLong, leastGiB, startFault } from "./startFault";
