import { defined } from "../../faults/defined";
import { isPooling } from "../planned/modelKind";
import type { InferenceServerSettings } from "../settings/inferenceServer";
import { adapterInside, modelInside } from "../settings/insideContainer";
import { templateArgument } from "./chatTemplate";
import { type RankPlace, rankArguments } from "./ranks";
import type { Serve } from "./serve";

/**
 * Address inside the container; what is reachable from outside is decided by the published port.
 */
const LISTEN_INSIDE = "0.0.0.0";

/**
 * The arguments after `vllm serve`, in a fixed order. The model comes first: behind
 * `--served-model-name`, which takes several values, it would be swallowed.
 */
export function launchArguments(
  server: InferenceServerSettings,
  serve: Serve,
  rank?: RankPlace,
): string[] {
  const { model, tools } = server;
  const pooling = isPooling(model.kind);
  return [
    modelInside(server),
    "--served-model-name",
    ...serve.names,
    ...value("--runner", pooling ? "pooling" : undefined),
    ...value("--host", rank?.nodes[0]?.address ?? LISTEN_INSIDE),
    ...value("--port", server.port),
    ...value("--revision", model.revision),
    ...value("--tensor-parallel-size", server.tensorParallelSize),
    ...value(
      "--pipeline-parallel-size",
      server.pipelineParallelSize === 1 ? undefined : server.pipelineParallelSize,
    ),
    ...flag("--trust-remote-code", server.trustRemoteCode),
    ...value("--max-model-len", server.maxModelLen),
    ...value("--max-num-seqs", server.maxNumSeqs),
    ...value("--max-num-batched-tokens", server.maxNumBatchedTokens),
    ...value("--gpu-memory-utilization", server.gpuMemoryUtilization),
    ...value("--kv-cache-dtype", server.kvCacheDtype),
    ...value("--kv-cache-memory-bytes", server.kvCacheMemoryBytes),
    // Whether a pooling model can do either depends on how it pools, so vLLM decides.
    ...(pooling ? [] : onOrOff("enable-chunked-prefill", server.chunkedPrefill)),
    ...(pooling ? [] : onOrOff("enable-prefix-caching", server.prefixCaching)),
    ...flag("--enable-auto-tool-choice", model.kind === "chat" && tools.autoChoice),
    ...value("--tool-call-parser", serve.toolParser ?? undefined),
    ...value("--reasoning-parser", serve.reasoningParser ?? undefined),
    ...value("--moe-backend", server.moeBackend),
    ...value("--attention-backend", server.attentionBackend),
    ...value("--gdn-prefill-backend", server.gdnPrefillBackend),
    ...value("--load-format", server.loadFormat),
    ...value("--chat-template", templateArgument(server)),
    ...value("--speculative-config", speculativeConfig(server)),
    ...adapterArguments(server),
    ...value("--allowed-origins", JSON.stringify(server.allowedOrigins)),
    ...(rank === undefined ? [] : rankArguments(rank)),
    ...server.extraArgs,
  ];
}

function speculativeConfig({ speculative }: InferenceServerSettings): string | undefined {
  if (speculative === undefined) return undefined;
  const { method, model, numSpeculativeTokens } = speculative;
  return JSON.stringify({
    method,
    ...defined({ model }),
    num_speculative_tokens: numSpeculativeTokens,
  });
}

/** vLLM's older form, `NAME=PATH`; with a comma in it vLLM would read JSON. */
function adapterArguments(server: InferenceServerSettings): string[] {
  const { adapters, maxLoraRank, maxLoras, maxCpuLoras, loraTargetModules } = server;
  if (adapters.length === 0) return [];
  return [
    "--enable-lora",
    "--lora-modules",
    ...adapters.map((adapter) => `${adapter.name}=${adapterInside(adapter)}`),
    ...value("--max-lora-rank", maxLoraRank),
    ...value("--max-loras", maxLoras ?? adapters.length),
    ...value("--max-cpu-loras", maxCpuLoras),
    ...(loraTargetModules === undefined ? [] : ["--lora-target-modules", ...loraTargetModules]),
  ];
}

const flag = (name: string, on: boolean): string[] => (on ? [name] : []);

/** Both forms are passed, since what is on by default changes with vLLM's version and the model. */
const onOrOff = (name: string, on: boolean): string[] => [on ? `--${name}` : `--no-${name}`];

const value = (name: string, given: string | number | undefined): string[] =>
  given === undefined ? [] : [name, String(given)];
