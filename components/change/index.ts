/**
 * The door of reviews: what differs between two plans, and for how long that takes something away.
 */

export { type ContainerChange, changesOf, isUnchanged, type MachineChange } from "./changesOf";
export { argumentChanges } from "./containerChange";
export { partsWithSources, stepsWithSources } from "./downtime";
export { firstStarts, startsInShort } from "./firstStarts";
export { lossInShort, lossText } from "./losses";
export { neverStartedText, PROVE } from "./neverStarted";
export { doubtText } from "./start";
