/** The KV plan: what an engine will make of the memory for its KV cache, from a model's config.json alone. */
export { type Admission, type Agent, admission } from "./admission";
export { AGENT_ENVELOPES, agentsAtOnce, CODING_CLIENT_MAX_TOKENS } from "./agents";
export type { CacheGroups, CacheLayout } from "./cacheLayout";
export { type EngineLog, type EngineRefusal, readEngineLog, saysMemory } from "./engineLog";
export {
  GDN_PREFILL_BACKENDS,
  KV_ENGINE_DEFAULTS,
  type KvEngineSettings,
  kvEngineSettingsSchema,
  SSM_CACHE_DTYPES,
} from "./engineSettings";
export { gib } from "./gib";
export { KV_DTYPES, type KvDtype, plannedKvDtype } from "./kvDtype";
export { type KvPlan, kvPlan, type RequestCost } from "./kvPlan";
export { type ModelShape, modelShape } from "./modelShape";
export { PREFILL_METHOD, type Prefill, prefillSeconds } from "./prefill";
export { longestRequest, requestBlocks } from "./requestBlocks";
