/** The door of memory: the ledger, the KV cache's room, and what a start's figures mean. */
export { adviseCache, adviseShare, type StartNeeds, shareRoom, sureShare } from "./advice";
export { weightsByName } from "./certainWeights";
export { computedShare } from "./computedShare";
export { kvFacts } from "./kvFacts";
export {
  gpuCount,
  isMeasured,
  leastBeforeKv,
  measuredHere,
  neededBeforeKv,
  ownSpeeds,
  weightsGB,
} from "./kvRoom";
export { fitsMachine, leftGiB, type MemoryLedger, partsBeyondShares, takenBy } from "./ledger";
export {
  type KnownServer,
  leastMemory,
  type MachineMemory,
  machineMemory,
  plannedTotal,
  totalFault,
  totalFinding,
} from "./machineMemory";
export { judgeStart } from "./measurement/verdict";
export { memoryWarnings, otherShares, type Warn } from "./memoryWarnings";
export { SPEED_SETTINGS, servedSpeed, speedTexts } from "./servedSpeed";
export {
  type KvContext,
  type ServerKv,
  type ServerKvResult,
  serverKv,
  startVerdictOf,
} from "./serverKv";
export { neededAndAdvised } from "./startNeeds";
export { COMFORTABLE_GB, weightBand, weightsInBand, weightsOnEach } from "./weightBands";
