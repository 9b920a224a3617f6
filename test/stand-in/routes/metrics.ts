import type { Exchange, Reply, RouteTable } from "../exchange";

/** Prometheus text with the names and labels of vLLM. */
export const metrics: RouteTable = { "GET /metrics": show };

/** Requests of full length that fit into a KV cache without room. */
const TOO_SMALL = 0.83;

function show({ server: { args, counts, fault, kvConcurrency } }: Exchange): Reply {
  const concurrency = fault === "small-kv-cache" ? TOO_SMALL : kvConcurrency;
  const labels = `engine="0",model_name="${args.servedNames[0]}"`;
  const cacheDtype = args.flags.get("--kv-cache-dtype")?.at(-1) ?? "auto";
  const sample = (name: string, kind: "gauge" | "counter", value: number, more = "") => [
    `# TYPE vllm:${name} ${kind}`,
    `vllm:${name}{${labels}${more}} ${value.toFixed(1)}`,
  ];
  const lines = [
    ...sample("num_requests_running", "gauge", counts.running),
    ...sample("num_requests_waiting", "gauge", 0),
    ...sample("kv_cache_usage_perc", "gauge", 0),
    ...sample("num_preemptions_total", "counter", 0),
    ...sample("prefix_cache_queries_total", "counter", counts.prefixQueries),
    ...sample("prefix_cache_hits_total", "counter", counts.prefixHits),
    ...sample("prompt_tokens_total", "counter", counts.promptTokens),
    ...sample("generation_tokens_total", "counter", counts.generationTokens),
    ...sample("request_success_total", "counter", counts.requests, ',finished_reason="stop"'),
    ...sample(
      "cache_config_info",
      "gauge",
      1,
      `,cache_dtype="${cacheDtype}",kv_cache_max_concurrency="${concurrency}",kv_cache_size_tokens="${Math.floor(concurrency * args.maxModelLen)}",gpu_memory_utilization="${args.gpuMemoryUtilization}"`,
    ),
    "# TYPE http_requests_total counter",
    ...[...counts.paths].map(
      ([path, count]) => `http_requests_total{handler="${path}",status="2xx"} ${count}.0`,
    ),
  ];
  return { status: 200, text: `${lines.join("\n")}\n` };
}
