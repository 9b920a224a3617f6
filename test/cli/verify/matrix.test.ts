import { describe, expect, it } from "vitest";
import { probeNames, probesOf } from "../../../cli/verify/run/catalog";
import { type FaultName, OTHER_FAULTS } from "../../stand-in/faults";
import type { Framing } from "../../stand-in/server";
import { failed, planned, resultOf, run, type Seen, startPlanned } from "./environment";

const CHAT_TOOLS = ["chat-tools", "chat-several-tools", "chat-tools-thinking"];

const NATIVE = ["native-messages-path"];
const B = "inferenceServers.b";
const VIA_BRIDGE = "clients.claudeCode.via: bridge";

const PROBES = probesOf("inference-server").map((probe) => probe.name);
/** The probes that a chat model is not asked. */
const LEFT_OUT = ["completions", "embeddings", "rerank"];

/** Adapters of the server, by which more is asked. */
const ADAPTERS = {
  adapters: [
    { name: "tone", path: "/data/tone", rank: 8 },
    { name: "legal", path: "/data/legal", rank: 8 },
  ],
};

/** The probes that no request of a model answers. */
const UNASKED = [...LEFT_OUT, "health", "version", "models", "max-model-len", "kv-cache"];

/** How each fault is seen; every other probe must pass. */
const SEEN: Record<(typeof OTHER_FAULTS)[number], Seen> = {
  "slash-in-id": [["models"], "`org/model`: a coding client can't", `${B}.servedModelName: model`],
  "alias-missing": [["models", "alias"], "aliases `org/model` are not served", `${B}.aliases`],
  "wrong-max-model-len": [
    ["max-model-len"],
    "65536 tokens, but 131072 are declared",
    `The stack file already has it (machines.dgx.${B}.maxModelLen: 131072), so the server runs with an older or different configuration.`,
  ],
  "no-reasoning-parser": [
    ["thinking-on"],
    "the thoughts are in `content`",
    `The stack file already has it (machines.dgx.${B}.reasoningParser, which gives qwen3)`,
  ],
  "no-prefix-caching": [["prefix-reuse"], "0 % of the second call", `${B}.prefixCaching`],
  "zero-prefix-hits": [["prefix-reuse"], "0 % of the second call", `${B}.prefixCaching`],
  "xml-in-content": [
    CHAT_TOOLS,
    "as XML in `content`: `<tool_call> <function=read_file>",
    `The stack file already has it (machines.dgx.${B}.tools.parser, which gives qwen3_coder)`,
  ],
  "xml-in-reasoning": [CHAT_TOOLS, "written as XML in `reasoning`", `${B}.model.thinking: false`],
  "arguments-no-json": [CHAT_TOOLS, "are not a JSON object", `${B}.tools.parser`],
  "xml-in-stream": [
    ["chat-tools-stream"],
    "as XML in `content`",
    `The stack file's machines.dgx.${B}.tools.parser (qwen3_coder) reads this form`,
  ],
  "calls-another-tool": [["chat-several-tools"], "it called `run_command`", `${B}.tools.parser`],
  "stream-without-done": [["chat-stream", "chat-tools-stream"], "did not end with [DONE]", `${B}.`],
  "stream-without-usage": [["chat-stream"], "without the usage", "version"],
  "thinks-always": [["thinking-off"], "it thinks with thinking off", `${B}.chatTemplate`],
  "think-tags-in-content": [
    ["thinking-on"],
    "the thoughts are in `content`",
    `${B}.reasoningParser, which gives qwen3), so the server runs with an older or different configuration. Apply the stack file: \`serving up\``,
  ],
  "no-text-after-tool-result": [
    ["chat-tool-result"],
    "no text (finish_reason stop, 3 tokens)",
    "What it answers and its log say why.",
  ],
  lying: [
    ["chat", "thinking-on", "thinking-off", "adapters", "needle", "long-prompt"],
    "answered 200 with an error: Internal server error",
    "What it answers and its log say why.",
  ],
  "window-unnamed": [["window"], "without naming the maximum of 131072", `${B}.maxModelLen`],
  "no-window-rule": [["window"], "in a window of 131072 was answered with 200", `${B}.maxModelLen`],
  "truncation-2048": [
    ["needle", "long-prompt"],
    "arrived as 2048 tokens: it was cut, as a tokenizer with truncation at 2048 does",
    "truncation.max_length",
  ],
  "small-kv-cache": [
    ["kv-cache"],
    "not one request of 131072 tokens is admitted",
    `${B}.gpuMemoryUtilization`,
  ],
  "no-responses": [
    [
      "responses",
      "responses-stream",
      "responses-developer",
      "responses-tools",
      "responses-tools-stream",
      "responses-prompt",
    ],
    "/v1/responses answered 404",
    `${B}.image`,
  ],
  "refuses-developer": [
    ["responses-developer"],
    "400: Unexpected message role.",
    `${B}.chatTemplate`,
  ],
  "responses-stream-cut": [
    ["responses-stream", "responses-tools-stream"],
    "not response.completed",
    "image",
  ],
  "responses-call-as-text": [
    ["responses-tools"],
    "no function_call item, the call is written as XML in the text",
    `${B}.tools.parser`,
  ],
  "responses-without-text": [
    ["responses"],
    "it was cut off after 2048 tokens (status incomplete, items: none)",
    "it had not ended after 512 tokens, nor after 2048",
  ],
  "end-turn-pseudo-xml": [
    NATIVE,
    "FAIL (0 of 5 runs with a tool_use block); stop_reason end_turn, blocks: text; it said `I'll read that file.",
    "machines.dgx.clients.claudeCode.via: bridge",
  ],
  "refuses-system-turn": [NATIVE, "400: System message must be at the beginning.", VIA_BRIDGE],
  // Without a messages-style client it harms nobody: the native path's own test has this one.
  "merges-system-turns": [[], "", ""],
  "now-and-then-pseudo-xml": [NATIVE, "FAIL (4 of 5 runs", VIA_BRIDGE],
  "messages-tools-as-text": [
    ["messages-tools"],
    "no tool_use block, the call is written as XML in the text",
    `${B}.tools.parser`,
  ],
  "messages-without-text": [
    ["messages"],
    "it was cut off after 2048 tokens (stop_reason max_tokens, blocks: thinking)",
    "it had not ended after 512 tokens, nor after 2048",
  ],
  "messages-stream-cut": [
    ["messages-stream", "messages-tools-stream"],
    "there is no message_stop",
    VIA_BRIDGE,
  ],
  "echoes-alias": [
    ["alias"],
    "it answers as `org/model` and not as `model`",
    `${B}.servedModelName`,
  ],
  "answers-any-model": [["unknown-tier"], "it answered 200", "clients.claudeCode"],
  "no-count-tokens": [["count-tokens"], "count_tokens answered 404", VIA_BRIDGE],
  "counts-nothing": [["count-tokens"], "it counted 0 tokens", `${B}.image`],
  "engine-dead": [["health", "long-prompt"], "/health answered 503", "docker logs"],
  "answers-500": [
    PROBES.filter((name) => !UNASKED.includes(name)),
    "answered 500: EngineCore encountered an issue.",
    "docker logs",
  ],
  "adapter-fails": [
    ["adapters"],
    "asked for `tone`: /v1/chat/completions answered 500: EngineCore encountered an issue.",
    `machines.dgx.${B}.adapters names it`,
  ],
  "adapter-left-out": [
    ["adapters"],
    "asked for `tone`, it answers as `model`",
    "without the adapter",
  ],
  "another-version": [
    ["version"],
    "vLLM 0.29.0 runs, but the stack file records 0.30.0",
    `${B}.versions.vllm: 0.29.0`,
  ],
  "version-below-floor": [["version"], "below the floor of 0.26.0", `${B}.image`],
  // A chat model is not asked for completions: the base model's own test has this one.
  "completes-nothing": [[], "", ""],
  // Only the harness's judge asks for JSON: its own matrix has this one.
  "ignores-json": [[], "", ""],
};

async function statuses(fault?: FaultName) {
  const server = await startPlanned(fault, ADAPTERS);
  try {
    return await run(planned(server.port, ADAPTERS), { only: PROBES });
  } finally {
    await server.close();
  }
}

describe("the names of the probes", () => {
  it("stay, in their order, since scripts select by them", () => {
    expect(probeNames().join(" ")).toBe(
      [
        "ranks-answer ranks-alike ranks-kv link-speed",
        "health version models max-model-len completions embeddings rerank",
        "chat chat-stream chat-tool-result chat-tools chat-tools-stream chat-several-tools chat-tools-thinking",
        "thinking-on thinking-off",
        "responses responses-stream responses-developer responses-tools responses-tools-stream",
        "messages messages-stream messages-tools messages-tools-stream count-tokens alias unknown-tier",
        "chat-prompt responses-prompt messages-prompt adapters",
        "native-messages-path window needle long-prompt prefix-reuse kv-cache",
        "on-demand-models",
        "bridge-health bridge-key bridge-models bridge-messages bridge-routing bridge-tools bridge-tools-stream",
        "bridge-system bridge-prefix-reuse bridge-unknown-tier bridge-tiers chat-ui-health chat-ui-models",
        "ollama-version ollama-models ollama-listen ollama-directory ollama-memory ollama-context",
        "ollama-chat-tools ollama-messages-tools ollama-responses-tools service-answers",
        "harness-profile harness-judge harness-embedding harness-healthcheck harness-chat harness-model",
        "instance-a-start instance-a-models instance-a-tools",
        "containers files network-closed launchers env-key memory instance-a",
      ].join(" "),
    );
  });
});

describe("every probe of an inference server", () => {
  it("passes on a healthy one", async () => {
    const results = await statuses();
    expect(
      results.map(({ name, status, detail }) => [name, status, status === "pass" ? "" : detail]),
    ).toEqual(
      PROBES.map((name) => [
        name,
        LEFT_OUT.includes(name) ? "skip" : "pass",
        LEFT_OUT.includes(name) ? "its model is of kind chat" : "",
      ]),
    );
  });

  it.each<Framing>(["crlf", "bare", "comments", "bytes"])(
    "takes a stream in every form that the standard allows: %s",
    async (framing) => {
      const streamed = PROBES.filter((name) => name.endsWith("-stream"));
      const server = await startPlanned(undefined, {}, { framing });
      const results = await run(planned(server.port), { only: streamed });
      await server.close();
      expect(streamed).toHaveLength(6);
      expect(failed(results).map((name) => resultOf(results, name).detail)).toEqual([]);
      expect(results).toHaveLength(streamed.length);
    },
  );

  it("fails on some fault", () => {
    const seen = new Set(Object.values(SEEN).flatMap(([probes]) => probes));
    expect(PROBES.filter((name) => !seen.has(name))).toEqual(LEFT_OUT);
  });

  it.each(OTHER_FAULTS)("%s: seen by its own probes and by no other", async (fault) => {
    const [probes, detail, fix] = SEEN[fault];
    const results = await statuses(fault);
    expect(results.map(({ name, status }) => `${name} ${status}`)).toEqual(
      PROBES.map(
        (name) =>
          `${name} ${probes.includes(name) ? "fail" : LEFT_OUT.includes(name) ? "skip" : "pass"}`,
      ),
    );
    const [first] = probes;
    if (first === undefined) return;
    expect(resultOf(results, first).detail).toContain(detail);
    expect(resultOf(results, first).fix).toContain(fix);
  });
});
