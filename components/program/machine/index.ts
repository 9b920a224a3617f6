/** The door of a machine: its resources as data, as policies judge them, and whether its servers start. */
export { batchFaults } from "./batchFaults";
export { type BootIds, declaredResources } from "./declaredResources";
export { Machine, neededFirst } from "./machine";
export {
  type KvFigures,
  kvFigures,
  type LeftGiB,
  leftGiBOf,
  type MachineOutputs,
  type MemoryFigures,
  machineOutputs,
  memoryFigures,
} from "./machineOutputs";
export { plannedStart, type StartVerdict } from "./plannedStart";
export { type Asked, isTooLong, leastGiB, startFault } from "./startFault";
