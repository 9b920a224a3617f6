/** The door of what a model's name says where nothing else does: its size, its kind, its format. */
export { ggufLacks, ggufText } from "./gguf";
export {
  MLX_WEIGHTS,
  makesNoCalls,
  type NamedWeights,
  NO_PICTURES,
  NO_SPEECH,
  namedPooling,
  namedWeights,
  onEachGpu,
  readModelName,
  saidOfKind,
  unservedByName,
  unweighedText,
  withoutOrganization,
} from "./modelName";
