import { describe, expect, it } from "vitest";
import type { KvRoom } from "../../../components/memory/kvRoom";
import type { ServerKv } from "../../../components/memory/serverKv";
import type { FaultName } from "../../stand-in/faults";
import {
  emptyHost,
  failed,
  found,
  machineOf,
  planned,
  resultOf,
  run,
  standIn,
  startPlanned,
} from "./environment";

/** One run of some probes against a server and its plan. */
async function seen(
  only: string[],
  settings: Record<string, unknown> = {},
  fault?: FaultName,
  kv?: Partial<ServerKv>,
) {
  const server = await startPlanned(fault, settings);
  const plan = planned(server.port, settings);
  const machine = machineOf(plan);
  const name = machine.containers[0]?.name ?? "";
  // The tests give the few figures that the probe reads.
  const figures = (kv ?? null) as ServerKv | null;
  const results = await run(
    { ...plan, machines: [{ ...machine, kv: { [name]: figures } }] },
    { only },
  );
  await server.close();
  return results;
}

describe("a base model", () => {
  const base = { model: { id: "org/base", kind: "base" } };

  it("is asked for completions and for no chat", async () => {
    const results = await seen(
      ["completions", "chat", "responses", "messages", "native-messages-path", "window"],
      base,
    );
    expect(results.map(({ name, status }) => `${name} ${status}`)).toEqual([
      "completions pass",
      "chat skip",
      "responses skip",
      "messages skip",
      "native-messages-path skip",
      "window skip",
    ]);
  });

  it("that generates nothing fails", async () => {
    const [result] = await seen(["completions"], base, "completes-nothing");
    expect(result).toMatchObject({ status: "fail", detail: "it added nothing to the text" });
  });
});

describe("a server with adapters", () => {
  const adapters = [
    { name: "tone", path: "/data/tone", rank: 8 },
    { name: "legal", path: "/data/legal", rank: 8 },
  ];

  it("is asked for their names, and for the window of its model alone", async () => {
    const results = await seen(["models", "max-model-len"], { adapters });
    expect(results.map(({ status, detail }) => `${status}: ${detail}`)).toEqual([
      "pass: model, org/model, tone, legal",
      "pass: 131072 tokens",
    ]);
  });

  it("fails where one isn't served", async () => {
    const server = await startPlanned(undefined, { adapters: adapters.slice(0, 1) });
    const [result] = await run(planned(server.port, { adapters }), { only: ["models"] });
    await server.close();
    expect(result).toMatchObject({
      status: "fail",
      detail: "the adapters `legal` are not served; it serves `model`, `org/model`, `tone`",
      fix: "machines.dgx.inferenceServers.b.adapters names them. The running server was started with other names: `serving up`.",
    });
  });
});

describe("a model that writes no text", () => {
  const model = (kind: string) => ({ model: { id: `org/${kind}`, kind } });
  const asked = ["embeddings", "rerank", "completions", "chat", "responses", "messages", "window"];

  it.each([
    ["embedding", ["embeddings pass", "rerank skip"]],
    ["rerank", ["embeddings skip", "rerank pass"]],
  ])("of kind %s is asked for what it makes, and for no text", async (kind, own) => {
    const results = await seen(asked, model(kind));
    expect(results.map(({ name, status }) => `${name} ${status}`)).toEqual([
      ...[
        "completions skip",
        ...own,
        "chat skip",
        "responses skip",
        "messages skip",
        "window skip",
      ],
    ]);
    expect(resultOf(results, "chat").detail).toBe(
      `its model isn't a chat model (\`model.kind: ${kind}\`)`,
    );
  });

  it.each([
    [
      "makes vectors",
      {},
      ", and /v1/embeddings makes vectors",
      /^It is a vLLM for another kind of model.*`machines\.dgx\.inferenceServers\.b\.model\.kind: embedding`\.$/,
    ],
    [
      "does not",
      { "POST /v1/embeddings": () => ({ status: 404, json: { detail: "Not Found" } }) },
      "",
      /^A vLLM that was started for another kind of model.*ask vLLM itself \(--base-url\)/,
    ],
  ] as const)("in the place of a chat model is one cause, said once: it %s", async (...each) => {
    const [, routes, also, advice] = each;
    const id = "org/m";
    const server = await startPlanned(undefined, { model: { id, kind: "embedding" } }, { routes });
    const { probes, causes } = await found(planned(server.port, { model: { id } }));
    await server.close();
    expect(causes.map((cause) => [cause.id, cause.cause, cause.probes])).toEqual([
      [
        "no-chats",
        `What answers here serves no chats: it has no /v1/chat/completions, /v1/responses, /v1/messages (404)${also}.`,
        failed(probes.filter(({ target }) => target === causes[0]?.target)),
      ],
    ]);
    expect(causes[0]?.advice).toMatch(advice);
    expect(failed(probes)).toEqual(expect.arrayContaining(["chat", "window", "chat-prompt"]));
  });

  const answering = async (kind: string, path: string, json: Record<string, unknown>) => {
    const route = () => ({ status: 200, json });
    const server = await startPlanned(undefined, model(kind), {
      routes: { [`POST ${path}`]: route },
    });
    const [result] = await run(planned(server.port, model(kind)), {
      only: [path === "/v1/rerank" ? "rerank" : "embeddings"],
    });
    await server.close();
    return result;
  };

  it.each([
    [{ data: [{ embedding: [0.1, 0.2] }] }, "it did not make one vector for each text"],
    [
      { data: [{ embedding: [0.1] }, { embedding: [0.1, 0.2] }] },
      "it did not make one vector for each text",
    ],
    [
      { data: [{ embedding: [null] }, { embedding: [1] }] },
      "it did not make one vector for each text",
    ],
    [{ data: [] }, "it did not make one vector for each text"],
    [
      { data: [{ embedding: [1, 2] }, { embedding: [1, 2] }] },
      "two different texts get the same vector",
    ],
  ])("fails with %j", async (json, said) => {
    const result = await answering("embedding", "/v1/embeddings", json);
    expect([result?.status, result?.detail.startsWith(said)]).toEqual(["fail", true]);
  });

  it.each([
    [
      [
        { index: 1, relevance_score: 0.9 },
        { index: 0, relevance_score: 0.1 },
      ],
      "the document that answers the question is not first",
    ],
    [
      [
        { index: 0, relevance_score: 0.5 },
        { index: 1, relevance_score: 0.5 },
      ],
      "the document that answers the question is not first",
    ],
    [[{ index: 0, relevance_score: 0.5 }], "it did not score each document"],
    [[{ index: 0 }, { index: 1 }], "it did not score each document"],
  ])("fails with the ranking %j", async (results, said) => {
    const result = await answering("rerank", "/v1/rerank", { results });
    expect([result?.status, result?.detail.startsWith(said)]).toEqual(["fail", true]);
    expect(result?.fix).toContain("inferenceServers.b.");
  });
});

describe("a server that its start gate holds back", () => {
  it.each([
    "stopped at the floor: 1.10 GiB are available, below 2.00 GiB for 3 s; vLLM gives way and waits again",
    "closed: 3 starts within an hour failed. Without a change: docker exec b rm /var/lib/local-serving/b.starts",
    "60.00 GiB are available, 54.73 GiB are needed; waiting for instance A, which does not answer",
  ])("is said to be, in the gate's words: %s", async (words) => {
    const log = async () => ({
      text: `INFO Model loading took 20.5 GiB memory\nstart gate: ${words}`,
    });
    const results = await run(
      planned(9),
      { only: ["health", "models"] },
      emptyHost({ memoryLines: log }),
    );
    expect(results.map(({ name, status, detail }) => [name, status, detail])).toEqual([
      ["health", "fail", `it does not run; its start gate says: ${words}`],
      ["models", "skip", "not run: vllm-model-9 does not run (see health)"],
    ]);
  });

  it("that was opened since is not: then only its own answer counts", async () => {
    const opened = async () => ({ text: "INFO Model loading took 20.5 GiB memory" });
    const [health] = await run(
      planned(9),
      { only: ["health"] },
      emptyHost({ memoryLines: opened }),
    );
    expect(health?.detail).not.toContain("start gate");
  });
});

describe("a model without a thinking mode", () => {
  it("is not asked to think", async () => {
    const plain = { model: { id: "org/model", family: "qwen3", thinking: false } };
    const results = await seen(
      ["thinking-on", "thinking-off", "chat-tools-thinking", "chat"],
      plain,
    );
    expect(results.map(({ name, status }) => `${name} ${status}`)).toEqual([
      "chat pass",
      "chat-tools-thinking skip",
      "thinking-on skip",
      "thinking-off skip",
    ]);
  });
});

describe("a small window", () => {
  it("leaves out the prompts that don't fit, and says why", async () => {
    const results = await seen(["needle", "long-prompt", "prefix-reuse", "window"], {
      maxModelLen: 8192,
    });
    expect(results.map(({ name, status }) => `${name} ${status}`)).toEqual([
      "window pass",
      "needle skip",
      "long-prompt skip",
      "prefix-reuse skip",
    ]);
    expect(resultOf(results, "long-prompt").detail).toContain("window of 8192 tokens is too short");
  });
});

describe("the long prompt", () => {
  it("is of 28,000 tokens and more", async () => {
    const [result] = await seen(["long-prompt"]);
    const tokens = Number(/in (\d+) tokens/.exec(result?.detail ?? "")?.[1]);
    expect(tokens).toBeGreaterThanOrEqual(28_000);
    expect(tokens).toBeLessThan(32_000);
  });
});

/** The part of a KV plan that is compared: figures with the least and with the most room. */
const kvOf = (low: number, high = low, basis: KvRoom["basis"] = "estimated") => ({
  maxConcurrency: low,
  atBest: { fits: true, maxConcurrency: high },
  room: { basis },
});

describe("the KV cache against the plan", () => {
  it.each([
    [kvOf(7.4), "pass", "planned 7.40 (+1.1 %)", ""],
    [kvOf(7), "pass", "planned 7.00 (+6.9 %)", ""],
    [kvOf(9), "fail", "planned 9.00 (-16.9 %)", "gpuMemoryUtilization"],
    [kvOf(7, 8), "pass", "planned 7.00 to 8.00 (+0.0 %)", ""],
    [kvOf(7.8), "pass", "(-4.1 %)", ""],
    [kvOf(7.8, 7.8, "measured"), "fail", "(-4.1 %)", "gpuMemoryUtilization"],
    [null, "pass", "the plan has no figure to compare", ""],
  ] as const)("%j", async (kv, status, detail, fix) => {
    const [result] = await seen(["kv-cache"], {}, undefined, kv as Partial<ServerKv> | undefined);
    expect(result?.status).toBe(status);
    expect(result?.detail).toContain("980,418 tokens, 7.48 requests of full length (/metrics)");
    expect(result?.detail).toContain(detail);
    expect(result?.fix).toContain(fix);
    expect(result?.fix === "").toBe(fix === "");
  });

  it.each([
    ["two lines", "GPU KV cache size: 1,234,567 tokens\nINFO "],
    ["one line", "GPU KV cache size: 1,234,567 tokens, "],
    ["one line of 0.33", "GPU + host KV cache size: 1,234,567 tokens, "],
    ["one line of a CPU", "CPU KV cache size: 1,234,567 tokens, "],
  ])("is read from the log where /metrics does not say it: %s", async (_, size) => {
    const log = `INFO ${size}Maximum concurrency for 131,072 tokens per request: 9.42x\n`;
    const metrics = {
      status: 200,
      text: 'vllm:num_requests_running 0.0\nvllm:cache_config_info{block_size="16"} 1.0\n',
    };
    const plan = planned(await standIn({ routes: { "GET /metrics": () => metrics } }));
    const [read] = await run(
      plan,
      { only: ["kv-cache"] },
      emptyHost({ memoryLines: async () => ({ text: log }) }),
    );
    const [none] = await run(plan, { only: ["kv-cache"] });
    expect(read?.detail).toBe(
      "1,234,567 tokens, 9.42 requests of full length (log); the plan has no figure to compare",
    );
    expect(none).toMatchObject({
      status: "fail",
      detail: expect.stringContaining("neither /metrics"),
    });
  });
});

describe("the version", () => {
  it("of a build counts as its release; an unrecorded one is proposed", async () => {
    const port = await standIn({ version: "0.30.0+cu130" });
    const [recorded] = await run(planned(port), { only: ["version"] });
    const versions = { evidence: "read", source: "test" };
    const [unrecorded] = await run(planned(port, { versions }), { only: ["version"] });
    expect(recorded?.detail).toBe("vLLM 0.30.0+cu130, as recorded");
    expect(unrecorded).toMatchObject({
      status: "pass",
      fix: "To record what runs, write `machines.dgx.inferenceServers.b.versions.vllm: 0.30.0+cu130` in the stack file.",
    });
  });
});

describe("the window", () => {
  it.each([
    ["0.31.0", "This model's maximum context length is 131072 tokens."],
    ["0.32.0", "max_tokens=131073 cannot be greater than max_model_len=max_total_tokens=131072."],
  ])("is named by the refusal of vLLM %s", async (version, words) => {
    const server = await startPlanned(undefined, {}, { version });
    const [result] = await run(planned(server.port), { only: ["window"] });
    await server.close();
    expect(result).toMatchObject({
      status: "pass",
      detail: expect.stringContaining(`400: ${words}`),
    });
  });
});

describe("a call that a parser swallowed", () => {
  it("is the parser's fault, as vLLM 0.30 answers: neither a text nor a call", async () => {
    const message = { role: "assistant", content: null, refusal: null, reasoning: null };
    const json = {
      choices: [{ index: 0, message, finish_reason: "stop" }],
      usage: { completion_tokens: 43 },
    };
    const port = await standIn({
      routes: { "POST /v1/chat/completions": () => ({ status: 200, json }) },
    });
    const [result] = await run(planned(port), { only: ["chat-tools"] });
    expect(result).toMatchObject({
      status: "fail",
      detail:
        "tool_calls is empty, and no text: the tool parser swallowed the call (finish_reason stop)",
      fix: expect.stringContaining(
        "reads none of them. If the server runs with another parser than `qwen3_coder`, which machines.dgx.inferenceServers.b.tools.parser gives: `serving up`.",
      ),
    });
  });
});

describe("what is in sight", () => {
  it("--base-url judges one server, and leaves out what else the plan has", async () => {
    const server = await startPlanned();
    const plan = planned(8001, {}, { instanceA: { gpuMemoryUtilization: 0.45 } });
    const results = await run(plan, { baseUrl: server.url });
    await server.close();
    expect(failed(results)).toEqual([]);
    expect(resultOf(results, "chat").status).toBe("pass");
    expect(resultOf(results, "instance-a")).toMatchObject({
      status: "skip",
      detail:
        "with --base-url, only that server is probed; name this probe with --only to run it too",
    });
  });

  it("a plan without a service skips its probes with the reason", async () => {
    const server = await startPlanned();
    const results = await run(planned(server.port), {
      only: ["bridge-tools", "chat-ui-health", "ollama-version", "instance-a"],
    });
    await server.close();
    expect(results.map(({ name, status, detail }) => `${name} ${status}: ${detail}`)).toEqual([
      "bridge-tools skip: the plan has no bridge",
      "chat-ui-health skip: the plan has no chat UI",
      "ollama-version skip: the plan has no simple server on the host",
      "instance-a skip: the stack file says `instanceA: none`",
    ]);
  });
});
