/** The door of the host: a planned container as Docker's arguments. */
export { commandsOn } from "./commandsOn";
export { containerArgs } from "./containerArgs";
export { type BeforeContainer, ContainerService } from "./containerService";
export { dataCopy } from "./dataCopy";
export { HostFile, secretFileArgs } from "./hostFile";
export { FactsOnRecord } from "./records";
export { SystemdDropIn } from "./systemdDropIn";
export { dropInPath, environmentIn, environmentLine } from "./systemdText";
