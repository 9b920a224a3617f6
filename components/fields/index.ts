/**
 * The door of the fields: forms that settings and facts take, and the names of servers that aren't
 * ours.
 */
export { gibibytes, INSTANCE_A, port, SIMPLE_SERVER, servedName, utilization } from "./fields";
export { isOllamaName, nameElsewhere } from "./hubId";
