/**
 * The door of planned data: what the plan is made of, and the labels and types by which it is found
 * again.
 */
export {
  folderHashes,
  HOST_NETWORK,
  inNameOrder,
  LABEL,
  type Mount,
  type PlannedContainer,
} from "./container";
export { gbOnEachGpu, gpusOf } from "./eachGpu";
export {
  type Disputed,
  type Drafts,
  type Evidence,
  folderEvidence,
  type ModelEvidence,
  modelEvidence,
  type PublishedSpeed,
  type PublishedSpeeds,
} from "./evidence";
export {
  type HostInstanceFacts,
  type ImageFacts,
  type LedgerLine,
  NOTES,
  OPERATING_SYSTEM,
  type SettingToChange,
  type Warning,
} from "./facts";
export type { FileRole, PlannedFile, SecretFile } from "./file";
export { isPooling, MODEL_KINDS, type ModelKind } from "./modelKind";
export { KEY_CHECK_SH, keyFault, newKey } from "./networkKey";
export { PLAN_VERSION } from "./planVersion";
export { gatePort, type Link, RANK_VARIABLES, type Rank, rankContainer } from "./rank";
export { endpointOf, everyName, PLACEHOLDER_KEY, type Reach, type Upstream } from "./reach";
export { refusedMark } from "./refused";
export {
  answers,
  declaredAs,
  keyElsewhere,
  neededBy,
  type PlannedMachine,
  type PlannedServer,
  placesOf,
  serversOn,
  withServer,
} from "./servers";
export { TYPE } from "./type";
