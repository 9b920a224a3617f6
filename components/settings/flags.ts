import type { InferenceServerSettings } from "./inferenceServer";

type Server = InferenceServerSettings;

/** A flag of `vllm serve` that a setting gives. */
export interface Flag {
  /** Path of the setting in a server's block; its schema has the default and the values. */
  readonly setting:
    | keyof Server
    | `model.${keyof Server["model"]}`
    | `tools.${keyof Server["tools"]}`;
  readonly flag: `--${string}`;
  /**
   * What stands behind the flag: one `word`, whole `number` or `share`, several `words`, or `json`.
   * A `switch` stands alone, and only if the setting is true. One that is `onOff` is passed in both
   * cases, since what vLLM does without it changes with its version and the model. The `first`
   * argument has no flag before it.
   */
  readonly form: "first" | "word" | "number" | "share" | "words" | "json" | "switch" | "onOff";
  /** Other flags that give vLLM the same or a part of it, so that `extraArgs` can't have them. */
  readonly also?: readonly string[];
  /** Keys of JSON flags in which vLLM stores the same. */
  readonly inside?: readonly JsonKey[];
  /**
   * The servers that have the flag: those that write text, have adapters, or
   * are placed by a feature, which then computes its value.
   */
  readonly only?: "generating" | "adapters" | "placed";
  /**
   * Whether another value needs other kernels. `same` ones do where vLLM 0.30.0 leaves the flag out
   * of the key for its compile cache (`compute_hash` of its configurations), or where it belongs to
   * its API. Default: it may need others.
   */
  readonly kernels?: "same" | "other";
  /**
   * Where a model's recipe has the value; `apart` if a recipe has it in another form or not at all.
   * Default: the value isn't the model's, and stays when the server gets another one.
   */
  readonly ofModel?: "settings" | "share.alone" | "parsers.tool" | "parsers.reasoning" | "apart";
}

interface JsonKey {
  readonly flag: string;
  readonly short?: string;
  readonly key: string;
}

const ROWS = [
  { setting: "model.id", flag: "--model", form: "first", ofModel: "apart" },
  {
    setting: "servedModelName",
    flag: "--served-model-name",
    form: "words",
    kernels: "same",
    ofModel: "apart",
  },
  { setting: "model.kind", flag: "--runner", form: "word", ofModel: "apart" },
  { setting: "listen", flag: "--host", form: "word", kernels: "same" },
  { setting: "port", flag: "--port", form: "number", kernels: "same" },
  {
    setting: "model.revision",
    flag: "--revision",
    form: "word",
    kernels: "other",
    ofModel: "apart",
  },
  { setting: "tensorParallelSize", flag: "--tensor-parallel-size", also: ["-tp"], form: "number" },
  {
    setting: "pipelineParallelSize",
    flag: "--pipeline-parallel-size",
    also: ["-pp"],
    form: "number",
  },
  {
    setting: "trustRemoteCode",
    flag: "--trust-remote-code",
    form: "switch",
    ofModel: "settings",
  },
  { setting: "maxModelLen", flag: "--max-model-len", form: "number", ofModel: "settings" },
  { setting: "maxNumSeqs", flag: "--max-num-seqs", form: "number", ofModel: "settings" },
  {
    setting: "maxNumBatchedTokens",
    flag: "--max-num-batched-tokens",
    form: "number",
    ofModel: "settings",
  },
  {
    setting: "gpuMemoryUtilization",
    flag: "--gpu-memory-utilization",
    also: ["--device-memory-utilization"],
    form: "share",
    kernels: "same",
    ofModel: "share.alone",
  },
  { setting: "kvCacheDtype", flag: "--kv-cache-dtype", form: "word", ofModel: "settings" },
  {
    setting: "kvCacheMemoryBytes",
    flag: "--kv-cache-memory-bytes",
    form: "number",
    kernels: "same",
    ofModel: "apart",
  },
  // Whether a pooling model can do either depends on how it pools, so vLLM decides.
  {
    setting: "chunkedPrefill",
    flag: "--enable-chunked-prefill",
    form: "onOff",
    only: "generating",
  },
  {
    setting: "prefixCaching",
    flag: "--enable-prefix-caching",
    form: "onOff",
    only: "generating",
    kernels: "same",
  },
  {
    setting: "tools.autoChoice",
    flag: "--enable-auto-tool-choice",
    form: "switch",
    kernels: "same",
  },
  {
    setting: "tools.parser",
    flag: "--tool-call-parser",
    form: "word",
    kernels: "same",
    ofModel: "parsers.tool",
  },
  {
    setting: "reasoningParser",
    flag: "--reasoning-parser",
    inside: [
      { flag: "--reasoning-config", key: "reasoning_parser" },
      { flag: "--structured-outputs-config", key: "reasoning_parser" },
    ],
    form: "word",
    kernels: "same",
    ofModel: "parsers.reasoning",
  },
  {
    setting: "moeBackend",
    flag: "--moe-backend",
    inside: [{ flag: "--kernel-config", key: "moe_backend" }],
    form: "word",
    ofModel: "settings",
  },
  {
    setting: "attentionBackend",
    flag: "--attention-backend",
    inside: [{ flag: "--attention-config", short: "-ac", key: "backend" }],
    form: "word",
    ofModel: "settings",
  },
  {
    setting: "gdnPrefillBackend",
    flag: "--gdn-prefill-backend",
    inside: [{ flag: "--additional-config", key: "gdn_prefill_backend" }],
    form: "word",
    ofModel: "settings",
  },
  { setting: "loadFormat", flag: "--load-format", form: "word", ofModel: "settings" },
  {
    setting: "chatTemplate",
    flag: "--chat-template",
    form: "word",
    kernels: "same",
    ofModel: "apart",
  },
  {
    setting: "speculative",
    flag: "--speculative-config",
    also: ["-sc", "--spec-method", "--spec-model", "--spec-tokens"],
    form: "json",
    ofModel: "apart",
  },
  { setting: "adapters", flag: "--enable-lora", form: "switch", only: "adapters" },
  { setting: "adapters", flag: "--lora-modules", form: "words", only: "adapters" },
  { setting: "maxLoraRank", flag: "--max-lora-rank", form: "number", only: "adapters" },
  { setting: "maxLoras", flag: "--max-loras", form: "number", only: "adapters" },
  { setting: "maxCpuLoras", flag: "--max-cpu-loras", form: "number", only: "adapters" },
  { setting: "loraTargetModules", flag: "--lora-target-modules", form: "words", only: "adapters" },
  { setting: "allowedOrigins", flag: "--allowed-origins", form: "json", kernels: "same" },
  { setting: "nodes", flag: "--nnodes", also: ["-n"], form: "number", only: "placed" },
  { setting: "nodes", flag: "--node-rank", also: ["-r"], form: "number", only: "placed" },
  { setting: "nodes", flag: "--headless", form: "switch", only: "placed" },
  { setting: "nodes", flag: "--master-addr", form: "word", only: "placed", kernels: "same" },
  { setting: "masterPort", flag: "--master-port", form: "number", only: "placed" },
] as const satisfies readonly Flag[];

/**
 * The flags of `vllm serve` that settings give, in the order in which a server gets them. Launch
 * arguments, `init --from-command`, recipes, the fault of a repeated setting and the length of a
 * restart follow from it.
 */
export const FLAGS: readonly Flag[] = ROWS;

/** A flag of the table, by its name. */
export type FlagName = (typeof ROWS)[number]["flag"];

/** Settings that a recipe has below `settings`. */
export type RecipeSetting = Extract<
  (typeof ROWS)[number],
  { readonly ofModel: "settings" }
>["setting"];
