/** The door of the host: a planned container as Docker's arguments. */
export { containerArgs } from "./containerArgs";
