/** The door of the clients: the list of them, and the part of a plan that describes one. */
export { MESSAGES_CLIENT } from "./claudeCode";
export type { ClientPlan } from "./plannedClients";
export { CLIENTS, type ClientKey } from "./registry";
export { clientsElsewhere } from "./settings";
