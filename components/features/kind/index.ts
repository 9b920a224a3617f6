export { type FeatureFault, feature, type OwnPort, preflightOf } from "./feature";
export { type PreflightFinding, refused, warned } from "./finding";
export type { Placement, Placing } from "./placement";
