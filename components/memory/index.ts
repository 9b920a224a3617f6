/** The door of memory: the ledger, the KV cache's room, and what a start's figures mean. */
export { gibRange, kvFacts, timesRange } from "./kvFacts";
export { leastBeforeKv, neededBeforeKv, ownSpeeds } from "./kvRoom";
export { leftGiB, partsBeyondShares, takenBy } from "./ledger";
export { totalFinding } from "./machineMemory";
export { judgeStart } from "./measurement/verdict";
export { type ServerKv, startVerdictOf, sureOutsideGiB, usualOutsideGiB } from "./serverKv";
export { type StartNeeds, shareForRequests } from "./startNeeds";
export { weightsInBand } from "./weightBands";
