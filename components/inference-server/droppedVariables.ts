/** Variables of the same fate. */
interface Variables {
  /** The last release that had them; without it, one of engine-data/ still has. */
  readonly last?: string;
  /** The option of `vllm serve` that took their place, as vLLM said while it still took both. */
  readonly option?: string;
  readonly names: readonly string[];
}

/**
 * Variables that vLLM dropped before the oldest version of engine-data/, read in `vllm/envs.py` of the wheels 0.11.0, 0.11.2,
 * 0.12.0, 0.13.0, 0.14.1, 0.15.1, 0.16.0, 0.17.1, 0.18.1, 0.19.1, 0.20.2, 0.21.0 and 0.22.1, and those that an option follows
 * (the linear backend: vllm-project/vllm pull request 39538).
 */
const VARIABLES: readonly Variables[] = [
  {
    last: "0.11.0",
    names: [
      ...["VLLM_DISABLE_NCCL_FOR_DP_SYNCHRONIZATION", "VLLM_DISABLE_PAD_FOR_CUDAGRAPH"],
      ...["VLLM_LOGITS_PROCESSOR_THREADS", "VLLM_ROCM_USE_TRITON_ROPE", "VLLM_SKIP_DEEP_GEMM_WARMUP"],
      ...["VLLM_USE_AITER_UNIFIED_ATTENTION", "VLLM_USE_DEEP_GEMM_E8M0_HOPPER", "VLLM_USE_RAY_COMPILED_DAG"],
      ...["VLLM_USE_RAY_SPMD_WORKER", "VLLM_USE_TRITON_FLASH_ATTN", "VLLM_USE_TRTLLM_FP4_GEMM", "VLLM_USE_V1"],
      ...["VLLM_V0_USE_OUTLINES_CACHE"],
    ],
  },
  { last: "0.11.2", names: ["VLLM_CPU_MOE_PREPACK", "VLLM_FLAT_LOGPROBS"] },
  { last: "0.12.0", names: ["VLLM_TEST_USE_PRECOMPILED_NIGHTLY_WHEEL"] },
  { last: "0.12.0", option: "mm-processor-cache-gb", names: ["VLLM_MM_INPUT_CACHE_GIB"] },
  { last: "0.14.1", option: "attention-backend", names: ["VLLM_ATTENTION_BACKEND"] },
  {
    last: "0.14.1",
    option: "attention-config",
    names: [
      ...["VLLM_DISABLE_FLASHINFER_PREFILL", "VLLM_FLASHINFER_DISABLE_Q_QUANTIZATION"],
      ...["VLLM_FLASH_ATTN_MAX_NUM_SPLITS_FOR_CUDA_GRAPH", "VLLM_FLASH_ATTN_VERSION", "VLLM_USE_CUDNN_PREFILL"],
      ...["VLLM_USE_TRTLLM_ATTENTION", "VLLM_USE_TRTLLM_RAGGED_DEEPSEEK_PREFILL"],
      ...["VLLM_V1_USE_PREFILL_DECODE_ATTENTION"],
    ],
  },
  { last: "0.15.1", option: "all2all-backend", names: ["VLLM_ALL2ALL_BACKEND"] },
  {
    last: "0.15.1",
    option: "profiler-config",
    names: [
      ...["VLLM_PROFILER_DELAY_ITERS", "VLLM_PROFILER_MAX_ITERS", "VLLM_TORCH_CUDA_PROFILE"],
      ...["VLLM_TORCH_PROFILER_DIR", "VLLM_TORCH_PROFILER_DISABLE_ASYNC_LLM"],
      ...["VLLM_TORCH_PROFILER_DUMP_CUDA_TIME_TOTAL", "VLLM_TORCH_PROFILER_RECORD_SHAPES"],
      ...["VLLM_TORCH_PROFILER_USE_GZIP", "VLLM_TORCH_PROFILER_WITH_FLOPS"],
      ...["VLLM_TORCH_PROFILER_WITH_PROFILE_MEMORY", "VLLM_TORCH_PROFILER_WITH_STACK"],
    ],
  },
  {
    last: "0.17.1",
    names: ["VLLM_ENABLE_FUSED_MOE_ACTIVATION_CHUNKING", "VLLM_FUSED_MOE_CHUNK_SIZE", "VLLM_SLEEP_WHEN_IDLE"],
  },
  { last: "0.18.1", names: ["VLLM_ROCM_CUSTOM_PAGED_ATTN"] },
  { last: "0.19.1", names: ["VLLM_ENABLE_MOE_DP_CHUNK", "VLLM_MOE_DP_CHUNK_SIZE"] },
  { last: "0.21.0", names: ["VLLM_NIXL_ABORT_REQUEST_TIMEOUT"] },
  {
    last: "0.22.1",
    names: [
      ...["VLLM_MORIIO_CONNECTOR_READ_MODE", "VLLM_MORIIO_NUM_WORKERS", "VLLM_MORIIO_POST_BATCH_SIZE"],
      ...["VLLM_MORIIO_QP_PER_TRANSFER", "VLLM_RPC_TIMEOUT"],
    ],
  },
  {
    option: "linear-backend",
    names: ["VLLM_NVFP4_GEMM_BACKEND", "VLLM_USE_FBGEMM", "VLLM_USE_NVFP4_CT_EMULATIONS"],
  },
  { option: "moe-backend", names: ["VLLM_FLASHINFER_MOE_BACKEND", "VLLM_USE_FLASHINFER_MOE_FP4"] },
];

/** Every variable that no version of engine-data/ has any more. */
export const droppedVariables: readonly string[] = VARIABLES.flatMap(({ last, names }) =>
  last === undefined ? [] : names,
);

/** The last release that had a dropped variable. */
export const lastReleaseWith = (name: string) => fateOf(name)?.last;

/** The option of `vllm serve` that took a variable's place. */
export const optionInsteadOf = (name: string) => fateOf(name)?.option;

const fateOf = (name: string) => VARIABLES.find(({ names }) => names.includes(name));
