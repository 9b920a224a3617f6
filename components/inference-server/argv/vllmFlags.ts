/**
 * The options of `vllm serve`, taken from the argument definitions in vLLM 0.30.0's source (the pinned release), so that
 * an abbreviation is told from an ambiguous one as argparse does. An option that a release lacks makes vLLM refuse to
 * start, so a list that is longer than a release's own does no harm.
 */

const words = (text: string): string[] => text.trim().split(/\s+/);

/** Options without a value; each also exists as `--no-...`. */
export const SWITCHES: ReadonlySet<string> = new Set(
  words(`
  aggregate-engine-logging allow-credentials allow-deprecated-quantization async-scheduling
  cohere-is-reasoning-model cudagraph-metrics data-parallel-external-lb data-parallel-hybrid-lb
  data-parallel-multi-port-external-lb dcp-q-replicate disable-cascade-attn disable-chunked-mm-input
  disable-custom-all-reduce disable-fastapi-docs disable-hybrid-kv-cache-manager disable-log-stats
  disable-nccl-for-dp-synchronization disable-sliding-window disable-uvicorn-access-log
  enable-auto-tool-choice enable-batch-sharded-sampling enable-chunked-prefill enable-cumem-allocator
  enable-dbo enable-elastic-ep enable-ep-weight-filter enable-eplb enable-expert-parallel
  enable-fault-tolerance enable-flash-late-interaction enable-flashinfer-autotune
  enable-force-include-usage enable-layerwise-nvtx-tracing enable-log-deltas enable-log-outputs
  enable-log-requests enable-logging-iteration-details enable-lora enable-mamba-cache-stochastic-rounding
  enable-mamba-fine-grained-prefix-cache enable-mfu-metrics enable-mixed-moe-lora-format enable-mm-embeds
  enable-moe-shared-loras enable-nccl-comm-suspend enable-offline-docs enable-per-request-metrics
  enable-prefix-caching enable-prompt-embeds enable-prompt-tokens-details enable-request-id-headers
  enable-return-routed-experts enable-scale-out enable-server-load-tracking enable-sleep-mode
  enable-ssl-refresh enable-tokenizer-info-endpoint enable-tower-connector-lora enable-trace-replay
  enforce-eager exclude-tools-when-tool-choice-none fail-on-environ-validation fully-sharded-loras grpc
  headless interleave-mm-strings jit-monitor-verbose kv-cache-metrics kv-sharing-fast-prefill
  language-model-only log-error-stack mm-device-do-normalize mm-encoder-only numa-bind
  ray-workers-use-nsight return-sampling-mask return-tokens-as-token-ids scheduler-reserve-full-isl
  skip-mm-profiling skip-tokenizer-init specialize-active-lora tokens-only trust-remote-code
  trust-request-chat-template use-fp64-gumbel use-replayssm use-tqdm-on-load
`),
);

/** Options that take one value or more. */
export const LISTS: ReadonlySet<string> = new Set(
  words(`
  allowed-media-domains api-key collect-detailed-traces cudagraph-capture-sizes ignore-patterns
  kv-cache-dtype-skip-layers logits-processors lora-modules lora-target-modules numa-bind-cpus
  numa-bind-nodes served-model-name
`),
);

/** Options that take exactly one value. */
const VALUES: ReadonlySet<string> = new Set(
  words(`
  additional-config all2all-backend allowed-headers allowed-local-media-path allowed-methods
  allowed-origins api-server-count attention-backend attention-config block-size chat-template
  chat-template-content-format code-revision cohere-format compilation-config config config-format convert
  cp-kv-cache-interleave-size cpu-distributed-timeout-seconds cpu-offload-gb cpu-offload-params
  data-parallel-address data-parallel-backend data-parallel-rank data-parallel-rpc-port data-parallel-size
  data-parallel-size-local data-parallel-start-rank data-parallel-supervisor-port
  dbo-decode-token-threshold dbo-prefill-token-threshold dcp-comm-backend dcp-kv-cache-interleave-size
  decode-context-parallel-size default-chat-template-kwargs default-mm-loras device-ids diffusion-config
  disable-access-log-for-endpoints distributed-executor-backend distributed-timeout-seconds download-dir
  dp-supervisor-probe-failure-threshold dp-supervisor-probe-interval-s dp-supervisor-probe-timeout-s
  dp-sync-interval dtype ec-manager-config ec-transfer-config elastic-ep-max-dp-size engram-config
  eplb-config expert-placement-strategy fault-tolerance-config fingerprint-mode fingerprint-value
  gdn-prefill-backend generation-config gpu-memory-utilization h11-max-header-count
  h11-max-incomplete-event-size hf-config-path hf-overrides hf-token host io-processor-plugin
  ir-op-priority jit-monitor-mode kda-decode-backend kda-prefill-backend kernel-config kv-cache-dtype
  kv-cache-memory-bytes kv-cache-metrics-sample kv-events-config kv-offloading-backend kv-offloading-size
  kv-transfer-config limit-mm-per-prompt linear-backend load-format log-config-file logprobs-mode
  long-prefill-token-threshold lora-dtype mamba-backend mamba-block-size mamba-cache-dtype
  mamba-cache-mode mamba-cache-philox-rounds mamba-ssm-cache-dtype mamba-ssu-algorithm master-addr
  master-port max-cpu-loras max-cudagraph-capture-size max-log-len max-logprobs max-lora-rank max-loras
  max-model-len max-num-batched-tokens max-num-queued-reqs max-num-queued-tokens max-num-scheduled-tokens
  max-num-seqs max-parallel-loading-workers media-io-kwargs middleware mm-encoder-attn-backend
  mm-encoder-attn-dtype mm-encoder-fp8-scale-path mm-encoder-fp8-scale-save-margin
  mm-encoder-fp8-scale-save-path mm-encoder-tp-mode mm-hasher-algorithm mm-ipc-gpu-memory-gb
  mm-processor-cache-gb mm-processor-cache-type mm-processor-device mm-processor-kwargs
  mm-shm-cache-max-object-size-mb mm-tensor-ipc model model-class-overrides model-impl
  model-loader-extra-config moe-backend nnodes node-rank num-gpu-blocks-override offload-backend
  offload-group-size offload-num-in-group offload-params offload-prefetch-step optimization-level
  otlp-traces-endpoint override-generation-config per-request-spec-decode-metrics performance-mode
  pipeline-parallel-size pooler-config port prefill-context-parallel-size prefill-schedule-interval
  prefix-cache-retention-interval prefix-caching-hash-algo prefix-match-unit profiler-config
  pt-load-map-location quantization quantization-config reasoning-config reasoning-parser
  reasoning-parser-plugin renderer-num-workers replayssm-buffer-len response-role revision root-path
  runner safetensors-load-strategy safetensors-prefetch-block-size safetensors-prefetch-num-threads
  scheduler-cls scheduling-policy seed show-hidden-metrics-for-version shutdown-timeout
  sparse-indexer-topk-backend spec-method spec-model spec-tokens speculative-config
  sse-keep-alive-interval ssl-ca-certs ssl-cert-reqs ssl-certfile ssl-ciphers ssl-keyfile stream-interval
  structured-outputs-config tensor-parallel-size tokenizer tokenizer-mode tokenizer-revision
  tool-call-parser tool-parser-plugin tool-server ubatch-size uds uvicorn-log-level video-pruning-method
  video-pruning-rate watermark watermark-config weight-transfer-config worker-cls worker-extension-cls
`),
);

/** Other names of an option: short forms, and `--device-memory-utilization` from 0.33. */
export const ALIASES: ReadonlyMap<string, string> = new Map([
  ["--device-memory-utilization", "gpu-memory-utilization"],
  ["-q", "quantization"],
  ["-pp", "pipeline-parallel-size"],
  ["-n", "nnodes"],
  ["-r", "node-rank"],
  ["-tp", "tensor-parallel-size"],
  ["-dcp", "decode-context-parallel-size"],
  ["-pcp", "prefill-context-parallel-size"],
  ["-dp", "data-parallel-size"],
  ["-dpn", "data-parallel-rank"],
  ["-dpr", "data-parallel-start-rank"],
  ["-dpl", "data-parallel-size-local"],
  ["-dpa", "data-parallel-address"],
  ["-dpp", "data-parallel-rpc-port"],
  ["-dpb", "data-parallel-backend"],
  ["-dph", "data-parallel-hybrid-lb"],
  ["-dpe", "data-parallel-external-lb"],
  ["-dpm", "data-parallel-multi-port-external-lb"],
  ["-ep", "enable-expert-parallel"],
  ["-sc", "speculative-config"],
  ["-dc", "diffusion-config"],
  ["-cc", "compilation-config"],
  ["-ac", "attention-config"],
  ["-asc", "api-server-count"],
  ["-O", "optimization-level"],
]);

/** Every long option as it can be written, without the leading dashes. */
export const LONG_OPTIONS: readonly string[] = [
  ...VALUES,
  ...LISTS,
  ...SWITCHES,
  ...[...SWITCHES].map((name) => `no-${name}`),
  "device-memory-utilization",
];
