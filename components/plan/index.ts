/** The door of the plan: settings and evidence in, plain data out. */
export { machinePlan, plan } from "./plan";
export { type MachinePlan, type Plan, serversOn, wordFor } from "./types";
