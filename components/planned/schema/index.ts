export { machineSchema } from "./machine";
export { admissionSchema, ledgerSchema, startNeedsSchema, togetherSchema } from "./memory";
export { onDemandSchema } from "./onDemand";
export { hostInstanceSchema, hostSimpleServerSchema } from "./onHost";
export {
  type ModelClass,
  type ModelStarts,
  otherStartsSchema,
  type SeenStart,
  startsFileSchema,
} from "./seenStart";
export { serveSchema } from "./serve";
export { inferenceServerSchema, servedSpeedSchema } from "./servers";
export {
  bridgeSchema,
  chatUiSchema,
  clientSchema,
  harnessSchema,
  serviceSchema,
  simpleServerSchema,
  volumeSchema,
} from "./services";
