/** As long as vLLM itself waits for its engine (VLLM_ENGINE_READY_TIMEOUT_S of the plan). */
export const START_SECONDS = 3600;
