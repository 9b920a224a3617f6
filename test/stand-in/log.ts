/**
 * What vLLM writes of itself that doctor, wait and verify read; the form is vLLM 0.30.0's, as
 * recorded.
 */
export const LOG = {
  version: (version: string) =>
    info("api_utils.py:347", ` ▄▄ ▄█ █     █     █ ▀▄▀ █  version ${version}`),
  arguments: (model: string, port: number, window: number) =>
    info(
      "api_utils.py:286",
      `non-default args: {'model_tag': '${model}', 'port': ${port}, 'max_model_len': ${window}}`,
    ),
  kvCache: (window: number, requests: number) =>
    info(
      "kv_cache_utils.py:2395",
      `GPU KV cache size: ${Math.floor(window * requests).toLocaleString("en")} tokens, Maximum concurrency for ${window.toLocaleString("en")} tokens per request: ${requests.toFixed(2)}x`,
      "EngineCore",
    ),
  starting: (url: string) => info("entry.py:139", `Starting vLLM server on ${url}`),
  ready: "(APIServer pid=1) INFO:     Application startup complete.",
  request: (client: string, method: string, path: string, status: string) =>
    `(APIServer pid=1) INFO:     ${client} - "${method} ${path} HTTP/1.1" ${status}`,
  stopping: "(APIServer pid=1) INFO:     Shutting down",
  stopped: "(APIServer pid=1) INFO:     Application shutdown complete.",
} as const;

function info(place: string, text: string, process = "APIServer"): string {
  const [day, time] = new Date().toISOString().slice(5, 19).split("T");
  return `(${process} pid=1) INFO ${day} ${time} [${place}] ${text}`;
}
