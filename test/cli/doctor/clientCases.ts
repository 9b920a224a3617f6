import type { MatrixCase } from "./cases";
import { withMachine } from "./stack";

const B = "inferenceServers.b";

/** What a client prints, or Ollama. */
const said = (
  folder: "clients" | "ollama",
  log: string,
  id: string,
  more: Partial<MatrixCase>,
): MatrixCase => ({
  name: `${id}: ${folder}/${log}`,
  files: { log: `${folder}/${log}.log` },
  ids: [id],
  evidence: "",
  ...more,
});
const client = (log: string, id: string, more: Partial<MatrixCase>) =>
  said("clients", log, id, more);
const ollama = (log: string, id: string, more: Partial<MatrixCase>) =>
  said("ollama", log, id, more);

const silent = (folder: "clients" | "ollama", log: string, text?: string): MatrixCase => ({
  name: `nothing: ${folder}/${log}`,
  files: { log: `${folder}/${log}.log` },
  ids: [],
  evidence: "",
  ...(text === undefined ? {} : { text }),
});

const WITH_OLLAMA = withMachine(["simpleServer", { mode: "host", listen: "0.0.0.0" }]);

export const CLIENTS: readonly MatrixCase[] = [
  client("output-maximum", "client-output-maximum", { cause: "bound of 32000 tokens" }),
  client("usage-missing", "client-usage-missing", { change: "via: native" }),
  client("unknown-model", "client-unknown-model", {
    cause: "the model gpt-5.5,",
    change: "ollama list",
    command: "ollama list",
  }),
  client("unknown-model-claude", "client-unknown-model", { change: "ends in /v1" }),
  client("unknown-model-vllm", "client-unknown-model", {
    cause: "the model gpt-4o,",
    change: "/v1/models lists",
  }),
  client("path-missing", "client-path-missing", { change: "ends in /v1" }),
  client("path-missing-v1", "client-path-missing", { change: "it asked for /responses" }),
  client("block-refused", "client-block-refused", {
    cause: "tool_addition",
    change: "ENABLE_TOOL_SEARCH=false",
  }),
  client("image-refused", "client-image-refused", { change: "reads images" }),
  client("tool-choice", "client-tool-choice", {
    change: "The stack file has it already",
    advice: "It needs the parser of the model's family beside it (`tools.parser`).",
  }),
  client("tool-choice-ollama", "client-tool-choice", {
    cause: "asks qwen3-coder:30b for tools",
    command: "ollama show qwen3-coder:30b",
  }),
  client("tool-schema", "client-tool-schema", { change: "MCP" }),
  client("key-refused", "client-key-refused", { change: "launcher" }),
  client("without-key", "client-without-key", { command: "local-claude" }),
  client("config-faulty", "client-config-faulty", { cause: "ollama" }),
  client("config-provider", "client-config-faulty", { change: "`openai/`" }),
  client("not-reached", "client-not-reached", { cause: "http://127.0.0.1:8000/v1/responses" }),
  client("gives-up", "client-gives-up", { change: "API_TIMEOUT_MS" }),
  client("stream-cut", "client-stream-cut", { command: "serving doctor" }),
  client("server-fails", "client-server-fails", { command: "serving doctor" }),
  client("notices", "client-notices", { harmless: true }),
  client("refused-by-the-bridge", "client-unknown-model", { cause: "the model nope," }),
  silent("clients", "asked-again"),
  silent("clients", "connected-again"),
  silent("clients", "one-refused-by-the-bridge"),
  client("window-sum-of-both", "window-exceeded", {
    evidence: "39057 in the messages",
    cause: "the window of 102400 tokens",
    text: withMachine(["instanceA", "none"], [`${B}.maxModelLen`, 102_400]),
    edits: [[`${B}.maxModelLen`, 103_424]],
  }),
  client("window-max-tokens", "window-exceeded", {
    evidence: "32000 > 32768 - 17459",
    text: withMachine(["instanceA", "none"], [`${B}.maxModelLen`, 32_768]),
    edits: [[`${B}.maxModelLen`, 50_176]],
    advice:
      "Agents send 30,000 to 40,000 tokens with every call; this prompt had 17459 and asked for 32000. Or let the client ask for less: `maxOutputTokens` (CLAUDE_CODE_MAX_OUTPUT_TOKENS) of 15309 or less.",
  }),
  client("window-prompt-alone", "window-exceeded", {
    text: withMachine(["instanceA", "none"], [`${B}.maxModelLen`, 202_752]),
    cause: "A prompt of 233781 tokens is longer than the window of 202752 tokens",
    change: "`model_context_window`",
  }),
  client("window-limit", "window-exceeded", {
    text: withMachine(["instanceA", "none"], [`${B}.maxModelLen`, 65_536]),
    cause: "A prompt of 69553 tokens is longer than the window of 65536 tokens",
  }),
  client("window-llama-cpp", "window-exceeded", {
    text: withMachine(
      ["simpleServer", { mode: "host", listen: "0.0.0.0", contextLength: 8192 }],
      [`${B}.maxModelLen`, 8192],
    ),
    edits: [["simpleServer.contextLength", 32_768]],
  }),
];

export const OLLAMA: readonly MatrixCase[] = [
  silent("ollama", "as-declared", WITH_OLLAMA),
  ollama("too-old", "ollama-too-old", { cause: "Ollama 0.12.10: releases below 0.17.1" }),
  ollama("gpu-hidden", "ollama-gpu-hidden", {
    evidence: "server config: OLLAMA_LLM_LIBRARY:cuda",
    cause: "cuda, which isn't a library of Ollama's",
    change: "cuda_v13",
  }),
  ollama("gpu-hidden-by-library", "ollama-gpu-hidden", { cause: "allows cuda_v12 alone" }),
  ollama("gpu-hidden-by-device", "ollama-gpu-hidden", { cause: "CUDA_VISIBLE_DEVICES is -1" }),
  ollama("driver", "ollama-driver", { change: "update the driver" }),
  ollama("cache-type", "ollama-cache-type", {
    cause: "q8_0, but flash attention is off, so Ollama keeps",
    change: "OLLAMA_FLASH_ATTENTION=1",
  }),
  ollama("cache-type-silent", "ollama-cache-type", { cause: "so Ollama before 0.30.0 keeps" }),
  ollama("cache-type-unknown", "ollama-cache-type", { cause: "is fp8, which" }),
  silent("ollama", "cache-type-by-itself"),
  ollama("prompt-cut", "ollama-prompt-cut", {
    cause: "the longest of 8944 tokens",
    text: withMachine(["simpleServer", { mode: "host", listen: "0.0.0.0", contextLength: 4096 }]),
    edits: [["simpleServer.contextLength", 32_768]],
  }),
  {
    ...ollama("prompt-cut", "ollama-prompt-cut", { change: "32768 tokens are declared" }),
    name: "ollama-prompt-cut, where enough is declared",
    text: WITH_OLLAMA,
  },
  ollama("template", "ollama-template", {
    cause: "system message must be at the beginning",
    change: "0.32.15",
  }),
  ollama("template-other", "ollama-template", { cause: "Conversation roles must alternate" }),
  ollama("differs", "ollama-differs", {
    text: WITH_OLLAMA,
    cause:
      "OLLAMA_CONTEXT_LENGTH is 4096, and 32768 is declared (`contextLength`); OLLAMA_HOST is http://127.0.0.1:11434, and 0.0.0.0:11434 is declared (`listen` and `port`); OLLAMA_KEEP_ALIVE is 30m0s, and 5m is declared (`keepAlive`).",
    change: "simpleServer.contextLength: 4096",
  }),
  ollama("parallel", "ollama-parallel", { text: WITH_OLLAMA, cause: "memory of 4 contexts" }),
  ollama("bad-value", "ollama-bad-value", { cause: "OLLAMA_CONTEXT_LENGTH is 64k" }),
  ollama("memory", "ollama-memory", { cause: "it needs 338.1 GiB, and 337.2 GiB are available" }),
  ollama("memory-cuda", "ollama-memory", { cause: "out of memory", change: "contextLength" }),
  ollama("model-too-new", "ollama-model-too-new", { cause: "pangu-embedded" }),
  ollama("pull-failed", "ollama-pull-failed", { cause: "no such host" }),
  ollama("pull-no-such-model", "ollama-pull-failed", { cause: "no model of that name" }),
  ollama("load-failed", "ollama-load-failed", { cause: "exit status 2" }),
  ollama("queue-full", "ollama-queue-full", { change: "inferenceServers" }),
  ollama("client-left", "ollama-client-left", { change: "keepAlive" }),
  ollama("partly-on-cpu", "ollama-partly-on-cpu", { cause: "Only 20 of 49 layers" }),
];
