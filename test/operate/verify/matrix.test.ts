import { describe, expect, it } from "vitest";
import { probesOf } from "../../../operate/verify/catalog";
import { type FaultName, OTHER_FAULTS } from "../../stand-in/faults";
import type { Framing } from "../../stand-in/server";
import { failed, planned, resultOf, run, startPlanned } from "./environment";

const CHAT_TOOLS = ["chat-tools", "chat-several-tools", "chat-tools-thinking"];

/** Each way to fail, the probes that see it and what is to be set; every other probe must pass. */
const SEEN: Record<
  (typeof OTHER_FAULTS)[number],
  { probes: readonly string[]; detail: string; fix: string }
> = {
  "slash-in-id": {
    probes: ["models"],
    detail: "`org/model`: a coding client can't",
    fix: "inferenceServers.b.servedModelName: model",
  },
  "alias-missing": {
    probes: ["models", "alias"],
    detail: "aliases `org/model` are not served",
    fix: "inferenceServers.b.aliases",
  },
  "wrong-max-model-len": {
    probes: ["max-model-len"],
    detail: "65536 tokens, declared are 131072",
    fix: "inferenceServers.b.maxModelLen: 65536",
  },
  "no-reasoning-parser": {
    probes: ["thinking-on"],
    detail: "`reasoning` is empty",
    fix: "inferenceServers.b.reasoningParser",
  },
  "no-prefix-caching": {
    probes: ["prefix-reuse"],
    detail: "0 % of the second call",
    fix: "inferenceServers.b.prefixCaching",
  },
  "zero-prefix-hits": {
    probes: ["prefix-reuse"],
    detail: "0 % of the second call",
    fix: "inferenceServers.b.prefixCaching",
  },
  "xml-in-content": {
    probes: CHAT_TOOLS,
    detail: "as XML in `content`: `<tool_call> <function=read_file>",
    fix: "inferenceServers.b.tools.parser: qwen3_xml",
  },
  "xml-in-reasoning": {
    probes: CHAT_TOOLS,
    detail: "written as XML in `reasoning`",
    fix: "inferenceServers.b.model.thinking: false",
  },
  "arguments-no-json": {
    probes: CHAT_TOOLS,
    detail: "are not a JSON object",
    fix: "inferenceServers.b.tools.parser",
  },
  "xml-in-stream": {
    probes: ["chat-tools-stream"],
    detail: "as XML in `content`",
    fix: "inferenceServers.b.tools.parser: qwen3_xml",
  },
  "calls-another-tool": {
    probes: ["chat-several-tools"],
    detail: "it called `run_command`",
    fix: "inferenceServers.b.tools.parser",
  },
  "stream-without-done": {
    probes: ["chat-stream", "chat-tools-stream"],
    detail: "did not end with [DONE]",
    fix: "inferenceServers.b.",
  },
  "stream-without-usage": { probes: ["chat-stream"], detail: "without the usage", fix: "version" },
  "thinks-always": {
    probes: ["thinking-off"],
    detail: "it thinks with thinking off",
    fix: "inferenceServers.b.chatTemplate",
  },
  "think-tags-in-content": {
    probes: ["thinking-on"],
    detail: "the thoughts are in `content`",
    fix: "inferenceServers.b.reasoningParser: auto",
  },
  "no-text-after-tool-result": {
    probes: ["chat-tool-result"],
    detail: "no text (finish_reason stop)",
    fix: "inferenceServers.b.model",
  },
  lying: {
    probes: ["chat", "thinking-on", "thinking-off", "needle", "long-prompt"],
    detail: "answered 200 with an error: Internal server error",
    fix: "inferenceServers.b.model",
  },
  "window-unnamed": {
    probes: ["window"],
    detail: "without naming the maximum of 131072",
    fix: "inferenceServers.b.maxModelLen",
  },
  "no-window-rule": {
    probes: ["window"],
    detail: "in a window of 131072 was answered with 200",
    fix: "inferenceServers.b.maxModelLen",
  },
  "truncation-2048": {
    probes: ["needle", "long-prompt"],
    detail: "arrived as 2048 tokens: it was cut, as a tokenizer with truncation at 2048 does",
    fix: "truncation.max_length",
  },
  "small-kv-cache": {
    probes: ["kv-cache"],
    detail: "not one request of 131072 tokens is admitted",
    fix: "inferenceServers.b.gpuMemoryUtilization",
  },
  "no-responses": {
    probes: [
      "responses",
      "responses-stream",
      "responses-developer",
      "responses-tools",
      "responses-tools-stream",
    ],
    detail: "/v1/responses answered 404",
    fix: "inferenceServers.*.image",
  },
  "refuses-developer": {
    probes: ["responses-developer"],
    detail: "400: Unexpected message role.",
    fix: "inferenceServers.b.chatTemplate",
  },
  "responses-stream-cut": {
    probes: ["responses-stream", "responses-tools-stream"],
    detail: "not response.completed",
    fix: "image",
  },
  "responses-call-as-text": {
    probes: ["responses-tools"],
    detail: "no function_call item, the call is written as XML in the text",
    fix: "inferenceServers.b.tools.parser",
  },
  "responses-without-text": {
    probes: ["responses"],
    detail: "no text (status incomplete, items: none)",
    fix: "image",
  },
  "end-turn-pseudo-xml": {
    probes: ["native-messages-path"],
    detail:
      "FAIL (0 of 5 runs with a tool_use block); stop_reason end_turn, blocks: text; it said `I'll read that file.",
    fix: "machines.dgx.clients.claudeCode.via: bridge",
  },
  "refuses-system-turn": {
    probes: ["native-messages-path"],
    detail: "400: System message must be at the beginning.",
    fix: "clients.claudeCode.via: bridge",
  },
  "now-and-then-pseudo-xml": {
    probes: ["native-messages-path"],
    detail: "FAIL (4 of 5 runs",
    fix: "clients.claudeCode.via: bridge",
  },
  "messages-tools-as-text": {
    probes: ["messages-tools"],
    detail: "no tool_use block, the call is written as XML in the text",
    fix: "inferenceServers.b.tools.parser",
  },
  "messages-without-text": {
    probes: ["messages"],
    detail: "no text, only reasoning (stop_reason max_tokens, blocks: thinking)",
    fix: "inferenceServers.b.model.thinking: false",
  },
  "messages-stream-cut": {
    probes: ["messages-stream", "messages-tools-stream"],
    detail: "there is no message_stop",
    fix: "clients.claudeCode.via: bridge",
  },
  "echoes-alias": {
    probes: ["alias"],
    detail: "it answers as `org/model` and not as `model`",
    fix: "inferenceServers.b.servedModelName",
  },
  "answers-any-model": { probes: ["unknown-tier"], detail: "it answered 200", fix: "clients.claudeCode" },
  "no-count-tokens": {
    probes: ["count-tokens"],
    detail: "count_tokens answered 404",
    fix: "clients.claudeCode.via: bridge",
  },
  "counts-nothing": {
    probes: ["count-tokens"],
    detail: "it counted 0 tokens",
    fix: "inferenceServers.b.image",
  },
  "engine-dead": { probes: ["health", "long-prompt"], detail: "/health answered 503", fix: "docker logs" },
  "another-version": {
    probes: ["version"],
    detail: "vLLM 0.29.0 runs, the stack file records 0.30.0",
    fix: "inferenceServers.b.versions.vllm: 0.29.0",
  },
  "version-below-floor": {
    probes: ["version"],
    detail: "below the floor of 0.26.0",
    fix: "inferenceServers.b.image",
  },
  // A chat model is not asked for completions: the base model's own test has this one.
  "completes-nothing": { probes: [], detail: "", fix: "" },
  // Only the harness's judge asks for JSON: its own matrix has this one.
  "ignores-json": { probes: [], detail: "", fix: "" },
};

const PROBES = probesOf("inference-server").map((probe) => probe.name);
const ONLY_BASE = ["completions"];

async function statuses(fault?: FaultName) {
  const server = await startPlanned(fault);
  try {
    return await run(planned(server.port), { only: PROBES });
  } finally {
    await server.close();
  }
}

describe("every probe of an inference server", () => {
  it("passes on a healthy one", async () => {
    const results = await statuses();
    expect(
      results.map(({ name, status, detail }) => [name, status, status === "pass" ? "" : detail]),
    ).toEqual(
      PROBES.map((name) => [
        name,
        ONLY_BASE.includes(name) ? "skip" : "pass",
        ONLY_BASE.includes(name) ? "its model is a chat model, asked by chat completions" : "",
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
    const seen = new Set(Object.values(SEEN).flatMap(({ probes }) => probes));
    expect(PROBES.filter((name) => !seen.has(name))).toEqual(ONLY_BASE);
  });

  it.each(OTHER_FAULTS)("%s: seen by its own probes and by no other", async (fault) => {
    const { probes, detail, fix } = SEEN[fault];
    const results = await statuses(fault);
    expect(results.map(({ name, status }) => `${name} ${status}`)).toEqual(
      PROBES.map(
        (name) => `${name} ${probes.includes(name) ? "fail" : ONLY_BASE.includes(name) ? "skip" : "pass"}`,
      ),
    );
    const [first] = probes;
    if (first === undefined) return;
    expect(resultOf(results, first).detail).toContain(detail);
    expect(resultOf(results, first).fix).toContain(fix);
  });
});
