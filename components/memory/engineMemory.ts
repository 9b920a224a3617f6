/** GiB (1024^3 bytes) in a GB (10^9 bytes). */
export const GIB_PER_GB = 1e9 / 1024 ** 3;

/** What vLLM takes beside weights and KV cache, at its most (llamastash measured 5.4 to 6.7 GiB). */
export const ENGINE_OVERHEAD_GIB = 6.7;

/**
 * What was seen between a server's weights and its KV cache, activations and CUDA graphs included, on a DGX Spark: 75 GB
 * of weights at 0.72 left 14.79 GiB (2.9 GiB beside them); 22 GB at 0.4 left -1.75 GiB (29.9 GiB beside them).
 */
export const BESIDE_WEIGHTS_GIB = { least: 2.9, most: 29.9 } as const;
