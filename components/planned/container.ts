import type { containerSchema } from "./schema/container";
import type { DataOf } from "./schema/dataOf";

/** A container with every value made plain, nothing left to a daemon's default. */
export type PlannedContainer = DataOf<typeof containerSchema>;

export type Mount = PlannedContainer["mounts"][number];

/** Label that every container of ours carries; its value is the machine's name in the stack file. */
export const MACHINE_LABEL = "local-serving.machine";

/** The network of a container that has the machine's own addresses. */
export const HOST_NETWORK = "host";

/** Label with the server's key in the stack file. */
export const SERVER_LABEL = "local-serving.server";

/** Label with a fingerprint of the configuration that a container was started with. */
export const CONFIG_LABEL = "local-serving.config";

/** The variables of a container in one order, whoever named them. */
export const inNameOrder = (variables: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(variables).sort(([a], [b]) => (a < b ? -1 : 1)));
