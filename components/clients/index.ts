/** The door of the clients: which there are, and what a plan has of one. */
export { MESSAGES_CLIENT } from "./claudeCode";
export type { ClientPlan } from "./plannedClients";
export { CLIENTS, type ClientKey } from "./registry";
export { clientsElsewhere } from "./settings";
