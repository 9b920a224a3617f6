import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type StandIn, startStandIn } from "./server";

const ARGV = [
  "org/Model-35B",
  "--served-model-name",
  "qwen",
  "org/Model-35B",
  "--host",
  "127.0.0.1",
  "--port=0",
  "--max-model-len",
  "100",
  "--gpu_memory_utilization",
  "0.45",
  "--enable-auto-tool-choice",
  "--tool-call-parser",
  "qwen3_coder",
];

const TOOL_SCHEMA = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer" } },
};
const ARGUMENTS = '{"city":"example","days":1}';

describe("a healthy stand-in", () => {
  let server: StandIn;
  beforeAll(async () => {
    server = await startStandIn(ARGV);
  });
  afterAll(() => server.close());

  const get = async (path: string) => await fetch(`${server.url}${path}`);
  const post = async (path: string, body: unknown) => {
    const response = await fetch(`${server.url}${path}`, {
      method: "POST",
      body: JSON.stringify(body),
    });
    return { status: response.status, json: (await response.json()) as Record<string, never> };
  };
  const stream = async (path: string, body: object) => {
    const response = await fetch(`${server.url}${path}`, {
      method: "POST",
      body: JSON.stringify({ ...body, stream: true }),
    });
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    return (await response.text()).trimEnd().split("\n\n");
  };

  it("answers /health with an empty 200", async () => {
    const response = await get("/health");
    expect([response.status, await response.text()]).toEqual([200, ""]);
  });

  it("lists every served name with its root and its context length", async () => {
    const { data } = (await (await get("/v1/models")).json()) as {
      data: Record<string, unknown>[];
    };
    expect(data.map(({ id, root, max_model_len }) => [id, root, max_model_len])).toEqual([
      ["qwen", "org/Model-35B", 100],
      ["org/Model-35B", "org/Model-35B", 100],
    ]);
  });

  it("says its version", async () => {
    expect(await (await get("/version")).json()).toEqual({ version: "0.30.0" });
  });

  it.each([
    [
      "/v1/completions",
      { prompt: "one two" },
      { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 },
    ],
    [
      "/v1/chat/completions",
      { messages: [{ role: "user", content: "one two" }] },
      { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 },
    ],
    ["/v1/responses", { input: "one two" }, { input_tokens: 2, output_tokens: 3, total_tokens: 5 }],
    [
      "/v1/messages",
      { max_tokens: 9, messages: [{ role: "user", content: "one two" }] },
      { input_tokens: 2, output_tokens: 3 },
    ],
  ])(
    "answers %s by an alias with the first served name and its usage",
    async (path, body, usage) => {
      const { status, json } = await post(path, { model: "org/Model-35B", ...body });
      expect(status).toBe(200);
      expect(json).toMatchObject({ model: "qwen", usage });
      expect(JSON.stringify(json)).toContain(
        '"text":"Hello from qwen"'.replace("text", textKey(path)),
      );
    },
  );

  it.each([
    [
      "/v1/chat/completions",
      {
        messages: [{ role: "user", content: "hi" }],
        tools: [{ type: "function", function: { name: "weather", parameters: TOOL_SCHEMA } }],
      },
      {
        choices: [
          {
            finish_reason: "tool_calls",
            message: {
              content: null,
              tool_calls: [{ function: { name: "weather", arguments: ARGUMENTS } }],
            },
          },
        ],
      },
    ],
    [
      "/v1/responses",
      { input: "hi", tools: [{ type: "function", name: "weather", parameters: TOOL_SCHEMA }] },
      { output: [{ type: "function_call", name: "weather", arguments: ARGUMENTS }] },
    ],
    [
      "/v1/messages",
      {
        max_tokens: 9,
        messages: [{ role: "user", content: "hi" }],
        tools: [{ name: "weather", input_schema: TOOL_SCHEMA }],
      },
      {
        stop_reason: "tool_use",
        content: [{ type: "tool_use", name: "weather", input: { city: "example", days: 1 } }],
      },
    ],
  ])("calls the tool that %s offers, structured", async (path, body, expected) => {
    expect((await post(path, body)).json).toMatchObject(expected);
  });

  it("answers a tool's result with text", async () => {
    const { json } = await post("/v1/chat/completions", {
      messages: [{ role: "tool", content: "sunny" }],
      tools: [{ type: "function", function: { name: "weather" } }],
    });
    expect(json).toMatchObject({
      choices: [{ finish_reason: "stop", message: { content: "Hello from qwen" } }],
    });
    expect(json).not.toHaveProperty("choices.0.message.tool_calls");
  });

  it("streams chat in chunks that end with [DONE]", async () => {
    const events = await stream("/v1/chat/completions", {
      messages: [{ role: "user", content: "hi" }],
      stream_options: { include_usage: true },
    });
    expect(events.at(-1)).toBe("data: [DONE]");
    const chunks = events
      .slice(0, -1)
      .map((event) => JSON.parse(event.slice("data: ".length)) as Record<string, never>);
    const text = chunks.map((chunk: { choices?: { delta: { content?: string } }[] }) =>
      (chunk.choices ?? []).map((choice) => choice.delta.content ?? "").join(""),
    );
    expect(text.join("")).toBe("Hello from qwen");
    expect(chunks.at(-1)).toMatchObject({ usage: { total_tokens: 4 } });
  });

  it("counts the tokens of a message without answering it", async () => {
    const body = { system: "be brief", messages: [{ role: "user", content: "one two three" }] };
    expect((await post("/v1/messages/count_tokens", body)).json).toMatchObject({ input_tokens: 5 });
  });

  it.each([
    [60, 200],
    [61, 400],
  ])(
    "takes 40 words and %i more only up to the context's 100 tokens",
    async (max_tokens, status) => {
      const { status: answered } = await post("/v1/completions", {
        prompt: "a ".repeat(40),
        max_tokens,
      });
      expect(answered).toBe(status);
    },
  );

  it("shows its counters and its memory share by vLLM's names", async () => {
    const text = await (await get("/metrics")).text();
    expect(text).toMatch(
      /^vllm:request_success_total\{engine="0",model_name="qwen",finished_reason="stop"\} [1-9]/m,
    );
    expect(text).toMatch(/^vllm:cache_config_info\{.*gpu_memory_utilization="0.45"\} 1.0$/m);
  });

  it.each([
    ["/nowhere", 404],
    ["/v1/completions", 405],
  ])("answers GET %s with %i", async (path, status) => {
    expect((await get(path)).status).toBe(status);
  });
});

describe("a stand-in with a route that fails", () => {
  it("fails there and nowhere else", async () => {
    const dead = { "GET /health": () => ({ status: 503, text: "" }) };
    const server = await startStandIn(["m", "--port", "0"], { routes: dead });
    try {
      expect((await fetch(`${server.url}/health`)).status).toBe(503);
      expect((await fetch(`${server.url}/version`)).status).toBe(200);
    } finally {
      await server.close();
    }
  });
});

function textKey(path: string): string {
  return path === "/v1/chat/completions" ? "content" : "text";
}
