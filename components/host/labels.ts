/** Label that every container of ours carries; its value is the machine's name in the stack file. */
export const MACHINE_LABEL = "local-serving.machine";

/** Label with the server's key in the stack file. */
export const SERVER_LABEL = "local-serving.server";

/** Label with a fingerprint of the configuration that a container was started with. */
export const CONFIG_LABEL = "local-serving.config";
