import type { Exchange, Reply, RouteTable } from "../exchange";

/** Prometheus text with the names and labels of vLLM. */
export const metrics: RouteTable = { "GET /metrics": show };

function show({ server: { args, counts } }: Exchange): Reply {
  const labels = `engine="0",model_name="${args.servedNames[0]}"`;
  const cacheDtype = args.flags.get("--kv-cache-dtype")?.at(-1) ?? "auto";
  const sample = (name: string, kind: "gauge" | "counter", value: number, more = "") => [
    `# TYPE vllm:${name} ${kind}`,
    `vllm:${name}{${labels}${more}} ${value.toFixed(1)}`,
  ];
  const lines = [
    ...sample("num_requests_running", "gauge", 0),
    ...sample("num_requests_waiting", "gauge", 0),
    ...sample("kv_cache_usage_perc", "gauge", 0),
    ...sample("num_preemptions_total", "counter", 0),
    ...sample("prompt_tokens_total", "counter", counts.promptTokens),
    ...sample("generation_tokens_total", "counter", counts.generationTokens),
    ...sample("request_success_total", "counter", counts.requests, ',finished_reason="stop"'),
    ...sample(
      "cache_config_info",
      "gauge",
      1,
      `,cache_dtype="${cacheDtype}",gpu_memory_utilization="${args.gpuMemoryUtilization}"`,
    ),
  ];
  return { status: 200, text: `${lines.join("\n")}\n` };
}
