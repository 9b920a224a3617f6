import { ranks } from "../ranks/ranks";

/** Keys of a server in the stack file that features add. */
export const serverKeys = ranks.settings.server;

/** Keys of a machine in the stack file that features add. */
export const machineKeys = ranks.settings.machine;
