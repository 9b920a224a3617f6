/** GiB (1024^3 bytes) in a GB (10^9 bytes). */
export const GIB_PER_GB = 1e9 / 1024 ** 3;

/** What vLLM takes beside weights and KV cache, at its most (llamastash measured 5.4 to 6.7 GiB). */
export const ENGINE_OVERHEAD_GIB = 6.7;

/** The least that was seen of it, CUDA graphs included: 75 GB of weights at 0.72 on a DGX Spark left 14.79 GiB of KV cache. */
export const LEAST_ENGINE_OVERHEAD_GIB = 2.9;

/** CUDA graphs at their most (0.2 to 2 GiB were seen). */
export const CUDA_GRAPHS_GIB = 2;
