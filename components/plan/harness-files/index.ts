export { HarnessFiles } from "./harnessFiles";
export { harnessWarnings, plannedHarness } from "./plannedHarness";
