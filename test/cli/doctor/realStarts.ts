/** A real start of vLLM that failed, and what doctor is to say of it. */
export interface RealStart {
  /** The diagnosis, the only one. */
  readonly id: string;
  /** In the line that shows it. */
  readonly evidence: string;
  readonly edits?: readonly (readonly [string, unknown])[];
  readonly change?: string;
}

const B = "inferenceServers.b";
const DAMAGED = "model-files-damaged";

/**
 * By the names of `test/real/vllm/failingStarts.ts`, which makes these starts, and of
 * `adapterStarts.test.ts` there behind `adapter-`; the logs are in `fixtures/vllm-0.30.0/`.
 */
export const REAL_STARTS: Readonly<Record<string, RealStart>> = {
  "reasoning-parser-unknown": {
    id: "unknown-parser",
    evidence: "Reasoning parser 'qwen4' not found",
    change: "has it already",
  },
  "tool-parser-unknown": {
    id: "unknown-parser",
    evidence: "invalid tool call parser: qwen4_xml",
    edits: [[`${B}.tools.parser`, "auto"]],
  },
  "argument-unknown": {
    id: "argument-unknown",
    evidence: "--enable-reasoning",
    change: "`extraArgs`",
  },
  "choice-invalid": { id: "argument-refused", evidence: "--kv-cache-dtype: invalid choice: 'fp9'" },
  "json-invalid": {
    id: "argument-refused",
    evidence: "--speculative-config/-sc: Value {method: mtp}",
    change: `--speculative-config '{"method":"mtp"}'`,
  },
  "share-above-1": { id: "engine-said", evidence: "less than or equal to 1" },
  "address-in-use": { id: "port-taken", evidence: "[Errno 98] Address already in use" },
  "window-above-model": {
    id: "window-above-model",
    evidence: "max_model_len (1000000)",
    change: "has it already",
  },
  "architecture-unsupported": {
    id: "architecture-unsupported",
    evidence: "['QwenFourForCausalLM']",
    change: "a release newer than 0.30.0",
  },
  "model-type-unknown": { id: "transformers-too-old", evidence: "model type `qwen4`" },
  "config-not-json": { id: DAMAGED, evidence: "is not a valid JSON file" },
  "weights-cut": { id: DAMAGED, evidence: "incomplete metadata, file not fully covered" },
  "shard-missing": { id: DAMAGED, evidence: "model-00002-of-00002.safetensors" },
  "weights-missing": { id: "weights-not-found", evidence: "Cannot find any model weights" },
  "model-denied": { id: DAMAGED, evidence: "No such file or directory: /model/model.safetensors" },
  "tokenizer-missing": { id: DAMAGED, evidence: "Couldn't instantiate the backend tokenizer" },
  "model-not-cached": { id: "model-not-in-cache", evidence: "LocalEntryNotFoundError" },
  "hub-unreachable": { id: "model-not-in-cache", evidence: "LocalEntryNotFoundError" },
  "chat-template-missing": {
    id: "chat-template-missing",
    evidence: "/templates/qwen.jinja",
    change: "has it already",
  },
  "shared-memory-full": { id: "no-space", evidence: "Insufficient space in /dev/shm" },
  "no-device": {
    id: "no-device",
    evidence: "Failed to infer device type",
    change: "driver answers",
  },
  "kv-room-too-small": {
    id: "window-too-long",
    evidence: "estimated maximum model length is 1920",
    edits: [[`${B}.kvCacheMemoryBytes`, 1073741824]],
  },
  "batch-below-sequences": {
    id: "batch-below-sequences",
    evidence: "max_num_batched_tokens (2)",
    edits: [[`${B}.maxNumSeqs`, 2]],
  },
  "marlin-unquantized": {
    id: "moe-backend-unfit",
    evidence: "moe_backend='marlin' is not supported for unquantized MoE",
    edits: [[`${B}.moeBackend`, undefined]],
  },
  "quantization-absent": {
    id: "quantization-differs",
    evidence: "Value error, Cannot find the config file for gptq_marlin",
    change: "Take `--quantization` out",
  },
  "draft-impossible": {
    id: "draft-unusable",
    evidence: "Unsupported speculative method: 'mtp'",
    change: "has it already",
  },
  "draft-missing": { id: "draft-unusable", evidence: "'rig/draft'", change: "has it already" },
  "adapter-rank": {
    id: "adapter-rank",
    evidence: "LoRA rank 16 is greater than max_lora_rank 8",
    change: "takes the smallest rank that covers all `adapters`",
  },
  "adapter-missing": {
    id: "adapter-missing",
    evidence: "Loading lora mine failed: No adapter found for",
    change: "Set its `path` below `adapters` to the folder",
  },
  "adapter-dora": {
    id: "adapter-unsupported",
    evidence: "vLLM does not yet support DoRA",
    change: "take it out of `adapters`",
  },
  "adapter-bias": {
    id: "adapter-unsupported",
    evidence: "Adapter bias is not supported",
    change: "`model.id` of a server of its own",
  },
  "adapter-modules-to-save": {
    id: "adapter-unsupported",
    evidence: "vLLM only supports modules_to_save being None",
    change: "`model.id` of a server of its own",
  },
  "adapter-tokens": {
    id: "adapter-unsupported",
    evidence: "embed_tokens.trainable_tokens_delta is unsupported LoRA weight",
    change: "take it out of `adapters`",
  },
  "adapter-wider-base": {
    id: "adapter-of-another-model",
    evidence: "The size of tensor a (128) must match the size of tensor b (256)",
    change: "Is `trainedOn` declared for it?",
  },
  "adapter-other-layers": {
    id: "adapter-of-another-model",
    evidence: "expected target modules in",
    change: "below the server of its own base",
  },
  "adapter-no-alpha": {
    id: "adapter-files-damaged",
    evidence: "Missing required configuration fields: {'lora_alpha'}",
    change: "keep its `path` below `adapters`",
  },
  "adapter-cut": {
    id: "adapter-files-damaged",
    evidence: "Error while deserializing header",
    change: "Copy the folder again",
  },
  "adapter-pickled-code": {
    id: "adapter-files-damaged",
    evidence: "Weights only load failed",
    change: "(safetensors)",
  },
  "adapter-gone": { id: "adapter-gone", evidence: "set_active_adapters", change: "`maxCpuLoras`" },
  "cache-full": { id: "no-space", evidence: "[Errno 28] No space left on device" },
};
