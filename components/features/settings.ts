import { ranks } from "./ranks";

/** Keys of a server, and of a machine, that features add to the stack file. */
export const { server: serverKeys, machine: machineKeys } = ranks.settings;
