/**
 * The door of planned data: what the plan is made of, and the labels and types by which it is found
 * again.
 */
export { folderHashes, inNameOrder, LABEL, type PlannedContainer } from "./container";
export { gpusOf } from "./eachGpu";
export type { Evidence } from "./evidence";
export { OPERATING_SYSTEM, type SettingToChange } from "./facts";
export type { PlannedFile } from "./file";
export { isPooling } from "./modelKind";
export { keyFault, newKey } from "./networkKey";
export { PLAN_VERSION } from "./planVersion";
export { gatePort } from "./rank";
export { PLACEHOLDER_KEY } from "./reach";
export { refusedMark } from "./refused";
export { TYPE } from "./type";
