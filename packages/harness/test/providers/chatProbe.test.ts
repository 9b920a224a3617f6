import type { IncomingMessage, ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { httpServer } from "../../../../test/layers/httpServer";
import { chatProbe } from "../../providers/chatProbe";
import { providerSchema } from "../../providers/schema";

type Body = Record<string, unknown>;
type Reply = (body: Body, request: IncomingMessage, response: ServerResponse) => void;

/** A model server on loopback; every request's body is kept. */
async function serve(
  reply: Reply,
): Promise<{ url: string; bodies: Body[]; requests: IncomingMessage[] }> {
  const bodies: Body[] = [];
  const requests: IncomingMessage[] = [];
  const { url } = await httpServer(async (request, response) => {
    const body = (await json(request)) as Body;
    bodies.push(body);
    requests.push(request);
    reply(body, request, response);
  });
  return { url: `${url}/v1`, bodies, requests };
}

const ok = (response: ServerResponse) =>
  response.end(JSON.stringify({ choices: [{ message: { role: "assistant", content: "OK" } }] }));
const refuse = (response: ServerResponse, message: string, status = 400) => {
  response.statusCode = status;
  response.end(JSON.stringify({ error: { message } }));
};

function ask(
  url: string,
  more: Record<string, unknown> = {},
  env: NodeJS.ProcessEnv = {},
  timeoutSec = 5,
) {
  const provider = providerSchema.parse({
    type: "openai-compatible",
    base_url: url,
    model: "m",
    ...more,
  });
  return chatProbe("local", provider, env, timeoutSec);
}

describe("one tiny chat request", () => {
  it("carries both switches, the model and the provider's own values", async () => {
    const { url, bodies, requests } = await serve((_, __, response) => ok(response));
    const result = await ask(url, { temperature: 0.7 });
    expect(result).toMatchObject({ name: "local: chat request", status: "pass" });
    expect(result.detail).toContain("both switches");
    expect(bodies).toEqual([
      {
        model: "m",
        messages: [{ role: "user", content: "Answer with the word OK." }],
        max_tokens: 16,
        temperature: 0.7,
        chat_template_kwargs: { enable_thinking: false },
        thinking: { type: "disabled" },
      },
    ]);
    expect(requests[0]?.url).toBe("/v1/chat/completions");
    expect(requests[0]?.headers.authorization).toBeUndefined();
  });

  it.each([
    ["thinking", ["chat_template_kwargs"]],
    ["chat_template_kwargs", ["thinking"]],
  ])("is asked again without %s where the server answers 400 to it", async (field, left) => {
    const { url, bodies } = await serve((body, _, response) =>
      field in body ? refuse(response, `unknown field ${field}`) : ok(response),
    );
    const result = await ask(url);
    expect(result.status).toBe("pass");
    expect(result.detail).toContain(field);
    expect(bodies).toHaveLength(2);
    const switches = ["chat_template_kwargs", "thinking"];
    expect(switches.filter((name) => name in (bodies[1] ?? {}))).toEqual(left);
  });

  it("is asked without either where the server refuses both", async () => {
    const { url, bodies } = await serve((body, _, response) =>
      "thinking" in body || "chat_template_kwargs" in body ? refuse(response, "no") : ok(response),
    );
    expect((await ask(url)).status).toBe("pass");
    expect(bodies).toHaveLength(4);
  });

  it("fails after four refusals, never asking on", async () => {
    const { url, bodies } = await serve((_, __, response) =>
      refuse(response, "maximum context length"),
    );
    const result = await ask(url);
    expect(result).toMatchObject({ status: "fail" });
    expect(result.detail).toContain("400, with and without");
    expect(bodies).toHaveLength(4);
  });

  it.each([
    [401, "refuses the key"],
    [404, "HTTP 404"],
    [500, "HTTP 500"],
  ])("is not repeated on HTTP %d", async (status, detail) => {
    const { url, bodies } = await serve((_, __, response) => refuse(response, "x", status));
    const result = await ask(url);
    expect(result.status).toBe("fail");
    expect(result.detail).toContain(detail);
    expect(bodies).toHaveLength(1);
  });

  it("sends the key of the variable, and shows it nowhere, even when the server echoes it", async () => {
    const { url, requests } = await serve((_, request, response) =>
      refuse(response, `bad key ${request.headers.authorization}`, 401),
    );
    const result = await ask(url, { api_key_env: "LOCAL_KEY" }, { LOCAL_KEY: "hunter2SECRET" });
    expect(requests[0]?.headers.authorization).toBe("Bearer hunter2SECRET");
    expect(JSON.stringify(result)).not.toContain("SECRET");
  });

  it("fails without a request where the variable is not set, and names it", async () => {
    const { url, bodies } = await serve((_, __, response) => ok(response));
    const result = await ask(url, { api_key_env: "LOCAL_KEY" }, {});
    expect(result).toMatchObject({ status: "fail", detail: "the variable LOCAL_KEY is not set" });
    expect(bodies).toEqual([]);
  });

  it("gives up on a server that never answers", async () => {
    const { url } = await serve(() => undefined);
    expect((await ask(url, {}, {}, 0.3)).detail).toBe("no answer within 0.3 s");
  });

  it("follows no redirect, which could carry the key elsewhere", async () => {
    const { url, bodies } = await serve((_, request, response) => {
      if (request.url !== "/v1/chat/completions") return ok(response);
      response.writeHead(307, { location: "/elsewhere" });
      response.end();
    });
    expect(await ask(url)).toMatchObject({ status: "fail", detail: "HTTP 307" });
    expect(bodies).toHaveLength(1);
  });

  it.each([["no JSON"], ["{}"], ['{"choices":[]}'], ["null"]])(
    "does not take %s for an answer",
    async (text) => {
      const { url } = await serve((_, __, response) => response.end(text));
      expect((await ask(url)).detail).toContain("choices[0].message");
    },
  );

  it("reads no endless answer, and sends no key that breaks its header", async () => {
    const { url } = await serve((_, __, response) => {
      const more = () => response.write("x".repeat(1024 ** 2)) && setImmediate(more);
      response.on("drain", more).on("error", () => undefined);
      more();
    });
    expect((await ask(url, {}, {}, 60)).detail).toBe(
      "no connection: an answer of more than 8 MiB, which was cut off",
    );
    expect((await ask(url, { api_key_env: "K" }, { K: "a\nSECRET: b" })).detail).toBe(
      "no connection: no HTTP request can be made with this address or key",
    );
  });

  it("says that nobody listens", async () => {
    expect((await ask("http://127.0.0.1:9/v1")).detail).toBe(
      "no connection: nothing listens there (connection refused)",
    );
  });

  it("is skipped without an address or model", async () => {
    const provider = providerSchema.parse({ type: "openai-compatible", model: "m" });
    expect((await chatProbe("p", provider, {}, 1)).status).toBe("skip");
  });
});
