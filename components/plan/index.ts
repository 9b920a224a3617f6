/** The door of the plan: settings and evidence in, plain data out. */

export { adapterConfig, adapterFaults } from "./adapterConfig";
export { appliedPlanPath } from "./appliedPlan";
export { filesFaults, type OwnFolder, placeFaults } from "./ownFiles";
export { machinePlan, plan } from "./plan";
export { type MachinePlan, type Plan, wordFor } from "./types";
