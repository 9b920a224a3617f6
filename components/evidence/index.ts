/** The door of evidence: what is read from files before planning. */
export {
  appliedMachines,
  appliedPlanIn,
  readAppliedPlan,
  readAppliedPlans,
} from "./readAppliedPlan";
export { operatorHome, readEvidence } from "./readEvidence";
export { readModels } from "./readModels";
