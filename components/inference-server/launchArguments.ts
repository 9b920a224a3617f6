import type { InferenceServerSettings } from "../settings/inferenceServer";
import type { Serve } from "./serve";

/** Address inside the container; what is reachable from outside is decided by the published port. */
const LISTEN_INSIDE = "0.0.0.0";

/**
 * The arguments after `vllm serve`, in a fixed order. The model comes first: behind `--served-model-name`, which takes
 * several values, it would be swallowed.
 */
export function launchArguments(server: InferenceServerSettings, serve: Serve): string[] {
  const { model, tools } = server;
  return [
    model.id,
    "--served-model-name",
    ...serve.names,
    "--host",
    LISTEN_INSIDE,
    "--port",
    String(server.port),
    "--tensor-parallel-size",
    String(server.tensorParallelSize),
    ...flag("--trust-remote-code", server.trustRemoteCode),
    "--max-model-len",
    String(server.maxModelLen),
    "--max-num-seqs",
    String(server.maxNumSeqs),
    "--max-num-batched-tokens",
    String(server.maxNumBatchedTokens),
    "--gpu-memory-utilization",
    String(server.gpuMemoryUtilization),
    "--kv-cache-dtype",
    server.kvCacheDtype,
    ...value("--kv-cache-memory-bytes", server.kvCacheMemoryBytes),
    ...onOrOff("enable-chunked-prefill", server.chunkedPrefill),
    ...onOrOff("enable-prefix-caching", server.prefixCaching),
    ...flag("--enable-auto-tool-choice", model.kind === "chat" && tools.autoChoice),
    ...value("--tool-call-parser", serve.toolParser ?? undefined),
    ...value("--reasoning-parser", serve.reasoningParser ?? undefined),
    ...value("--moe-backend", server.moeBackend),
    ...value("--attention-backend", server.attentionBackend),
    ...value("--gdn-prefill-backend", server.gdnPrefillBackend),
    ...value("--load-format", server.loadFormat),
    ...value("--chat-template", server.chatTemplate),
    ...value("--speculative-config", speculativeConfig(server)),
    "--allowed-origins",
    JSON.stringify(server.allowedOrigins),
    ...server.extraArgs,
  ];
}

function speculativeConfig({ speculative }: InferenceServerSettings): string | undefined {
  if (speculative === undefined) return undefined;
  const { method, model, numSpeculativeTokens } = speculative;
  return JSON.stringify({
    method,
    ...(model === undefined ? {} : { model }),
    num_speculative_tokens: numSpeculativeTokens,
  });
}

function flag(name: string, on: boolean): string[] {
  return on ? [name] : [];
}

/** Both forms are passed, since what is on by default changes with vLLM's version and the model. */
function onOrOff(name: string, on: boolean): string[] {
  return [on ? `--${name}` : `--no-${name}`];
}

function value(name: string, given: string | number | undefined): string[] {
  return given === undefined ? [] : [name, String(given)];
}
