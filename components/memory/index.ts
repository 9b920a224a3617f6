/** The door of memory: the ledger, the KV cache's room, and what a start's figures mean. */
export {
  adviseCache,
  adviseShare,
  type StartNeeds,
  shareRoom,
  sureShare,
} from "./advice";
export { weightsByName } from "./certainWeights";
export { computedShare } from "./computedShare";
export { kvFacts } from "./kvFacts";
export { leastBeforeKv, neededBeforeKv } from "./kvRoom";
export { leftGiB, partsBeyondShares, takenBy } from "./ledger";
export { totalFinding } from "./machineMemory";
export { judgeStart } from "./measurement/verdict";
export { SPEED_SETTINGS, speedTexts } from "./servedSpeed";
export { type ServerKv, startVerdictOf } from "./serverKv";
export { weightsInBand } from "./weightBands";
