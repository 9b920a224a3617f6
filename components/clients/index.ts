/** The door of the clients: the list of them, and the part of a plan that describes one. */
export { MESSAGES_CLIENT } from "./claudeCode";
export { Client } from "./client";
export type { ClientKind, ClientSettings } from "./kind";
export {
  type ClientPlan,
  codingAtInstanceA,
  codingClients,
  plannedClients,
} from "./plannedClients";
export { CLIENTS, type ClientKey } from "./registry";
export { clients, clientsElsewhere } from "./settings";
