/** The door of the services: every one that can run around the servers. */
export { type ContainerRole, SERVICES, serviceNamed } from "./registry";
export { serviceBlocks } from "./settings";
