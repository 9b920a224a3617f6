/** The door of memory: the ledger, the KV cache's room, and what a start's figures mean. */
export { gibRange, kvFacts, timesRange } from "./kvFacts";
export { leastBeforeKv, neededBeforeKv, ownSpeeds } from "./kvRoom";
export { demandFigures, leftGiB, partsBeyondShares, takenBy } from "./ledger";
export { totalFinding } from "./machineMemory";
export { judgeStart } from "./measurement/verdict";
export type { ServerKv } from "./serverKv";
export { type StartNeeds, shareForRequests } from "./startNeeds";
export {
  fitTogether,
  leftBeside,
  shareLeft,
  type TogetherFigures,
} from "./together";
export { weightsInBand } from "./weightBands";
