/**
 * The door of the settings: the stack file's schema, how a file is read, and where each key stands.
 */

export { FLAGS } from "./flags";
export { type InferenceServerSettings, inferenceServer } from "./inferenceServer";
export { modelInside } from "./insideContainer";
export { declaresNothing, parseEngineConfig, parseStackFile, stackFileOf } from "./load";
export { type MachineSettings, machine } from "./machine";
export {
  type Locate,
  machineFault,
  placed,
  placeOf,
} from "./places";
export { FLAGS_WITH_SETTING, repeatedFlags, repeatedVariable } from "./repeatedSettings";
export { NAMESPACE, type StackSettings, stackSettings } from "./stackSettings";
