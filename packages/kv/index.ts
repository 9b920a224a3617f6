/**
 * The KV plan: what an engine will make of the memory for its KV cache, from a model's config.json
 * alone.
 */
export { FaultyInput } from "@local-serving/base/faults/fault";
export {
  type Admission,
  admission,
  agentsAtOnce,
  CODING_CLIENT_MAX_TOKENS,
  prefills,
} from "./admission";
export { longestRequest } from "./cacheLayout";
export { type EngineLog, type EngineRefusal, readEngineLog, saysMemory } from "./engineLog";
export { reservedBlocks } from "./engineRules";
export {
  KV_ENGINE_CHOICES,
  KV_ENGINE_DEFAULTS,
  type KvEngineSettings,
} from "./engineSettings";
export { plannedKvDtype } from "./kvDtype";
export { type KvPlan, kvPlan, kvPlanner, windowBytes } from "./kvPlan";
export { type ModelShape, modelShape, ownWindow } from "./modelShape";
export { reuseText } from "./prefixReuse";
