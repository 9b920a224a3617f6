/**
 * The door of the settings: the stack file's schema, how a file is read, and where each key stands.
 */

export { FLAGS, type Flag, type FlagName, type RecipeSetting } from "./flags";
export { type GivenElsewhere, parseGiven } from "./given";
export { goneKeyWarnings } from "./goneKeys";
export type { HarnessSettings } from "./harness";
export { type InferenceServerSettings, inferenceServer } from "./inferenceServer";
export {
  adapterInside,
  folderOfModel,
  INSIDE,
  modelInside,
  placeOfAdapter,
} from "./insideContainer";
export { declaresNothing, parseEngineConfig, parseStackFile, stackFileOf } from "./load";
export { DEFAULT_OPERATING_SYSTEM_GIB, type MachineSettings, machine } from "./machine";
export type { MeasuredSettings } from "./measured";
export { type ModelFamily, modelSettings } from "./model";
export { holdsKeys, systemFolder } from "./mountable";
export type { AdapterSettings } from "./ownModels";
export { givenPath, type Locate, machineFault, placed, placeOf, sourceOfSettings } from "./places";
export type { MachineFault } from "./referenceFaults";
export { FLAGS_WITH_SETTING, repeatedFlags, repeatedVariable } from "./repeatedSettings";
export { apiKeyVariable, pairings, type Reviewer, reviewers } from "./reviewers";
export { saidInProgram } from "./saidInProgram";
export { NAMESPACE, type StackSettings, stackSettings } from "./stackSettings";
