/** The KV plan: what an engine will make of the memory for its KV cache, from a model's config.json alone. */
export { type Admission, admission, agentsAtOnce, CODING_CLIENT_MAX_TOKENS } from "./admission";
export { longestRequest, requestBlocks } from "./cacheLayout";
export { SSM_CACHE_DTYPES } from "./configSchema";
export { type EngineLog, type EngineRefusal, readEngineLog, saysMemory } from "./engineLog";
export {
  GDN_PREFILL_BACKENDS,
  KV_ENGINE_DEFAULTS,
  type KvEngineSettings,
} from "./engineSettings";
export { gib, thousands } from "./gib";
export { KV_DTYPES, plannedKvDtype } from "./kvDtype";
export { type KvPlan, kvPlan } from "./kvPlan";
export { type ModelShape, modelShape, ownWindow } from "./modelShape";
export { reuseText } from "./prefixReuse";
