import { createServer } from "node:http";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { type Meddles, startFront } from "../../stand-in/front";
import { listening } from "../../stand-in/listening";
import { failed, found, planned, startPlanned } from "./environment";

const HTML = { "content-type": "text/html", server: "nginx/1.24.0" };
const JSON_TYPE = { "content-type": "application/json" };

/** A page as nginx writes it. */
const page = (status: string) =>
  `<html>\r\n<head><title>${status}</title></head>\r\n<body>\r\n<center><h1>${status}</h1></center>\r\n<hr><center>nginx/1.24.0</center>\r\n</body>\r\n</html>\r\n`;

const withTools: (status: number, title: string) => Meddles =
  (status, title) => (passing, response) =>
    passing.body.includes('"tools"')
      ? response.writeHead(status, HTML).end(page(`${status} ${title}`))
      : undefined;

const ofAnswers = (change: (text: string) => string | Buffer, headers: Record<string, string>) =>
  (({ method, text }, response) =>
    method === "POST" && text.startsWith("{")
      ? response.writeHead(200, headers).end(change(text))
      : undefined) satisfies Meddles;

const ONLY = ["health", "version", "chat", "chat-stream", "chat-tools", "chat-several-tools"];

async function seenThrough(meddles: Meddles, only = ONLY) {
  const server = await startPlanned();
  const front = await startFront(server.port, meddles);
  const all = await found(planned(front.port), { only });
  await Promise.all([front.close(), server.close()]);
  return { ...all, url: front.url };
}

const NGINX = "Something between verify and vLLM, such as a proxy (it says `nginx/1.24.0`), ";
const TOOLS = ["chat-tools", "chat-several-tools"];

describe("what stands between verify and vLLM", () => {
  it.each<[string, Meddles, string, readonly string[]]>([
    [
      "gives up",
      withTools(504, "Gateway Time-out"),
      `${NGINX}gives up before the answer is there (504, \`504 Gateway Time-out\`).`,
      TOOLS,
    ],
    [
      "loses vLLM",
      withTools(502, "Bad Gateway"),
      `${NGINX}gets no answer from what is behind it (502, \`502 Bad Gateway\`).`,
      TOOLS,
    ],
    [
      "filters texts",
      withTools(403, "Forbidden"),
      `${NGINX}refuses these requests (403, \`403 Forbidden\`).`,
      TOOLS,
    ],
    [
      "lets few requests through",
      ({ body }, response) =>
        body.includes('"tools"')
          ? response.writeHead(429, JSON_TYPE).end('{"message":"API rate limit exceeded"}')
          : undefined,
      "Something between verify and vLLM, such as a proxy, lets only so many requests through (429, `API rate limit exceeded`).",
      TOOLS,
    ],
    [
      "passes some paths on",
      ({ path }, response) =>
        path.startsWith("/v1")
          ? undefined
          : response.writeHead(404, HTML).end(page("404 Not Found")),
      `${NGINX}doesn't pass on /health, /version (404, \`404 Not Found\`).`,
      ["health", "version"],
    ],
    [
      "packs answers",
      ofAnswers((text) => gzipSync(text), { ...JSON_TYPE, "content-encoding": "gzip" }),
      "Something between verify and vLLM, such as a proxy, packs answers (`content-encoding: gzip`), though nobody asked for that.",
      ["chat", "chat-tools", "chat-several-tools"],
    ],
    [
      "cuts answers off",
      ofAnswers((text) => text.slice(0, 100), JSON_TYPE),
      "Something between verify and vLLM, such as a proxy, cuts answers off in the middle: their JSON has no end (/v1/chat/completions).",
      ["chat", "chat-tools", "chat-several-tools"],
    ],
    [
      "writes another type",
      ofAnswers((text) => text, { "content-type": "text/html" }),
      "Something between verify and vLLM, such as a proxy, answers under the wrong `content-type` (text/html).",
      ["chat", "chat-tools", "chat-several-tools"],
    ],
    [
      "has a page of its own",
      ({ method }, response) =>
        method === "POST"
          ? response
              .writeHead(200, { "content-type": "text/html" })
              .end("<html><title>Sign in</title>")
          : undefined,
      "Something between verify and vLLM, such as a proxy, answers with a web page in vLLM's place (200, `Sign in`).",
      ["chat", "chat-stream", "chat-tools", "chat-several-tools"],
    ],
  ])("%s: that is the only cause", async (_, meddles, cause, probes) => {
    const { causes } = await seenThrough(meddles);
    expect(causes.map((each) => [each.id, each.cause, each.probes])).toEqual([
      ["answered-between", cause, probes],
    ]);
  });

  it("refuses what is large: its size and one that passed are said", async () => {
    const { causes } = await seenThrough(
      ({ body }, response) =>
        body.length > 20_000
          ? response.writeHead(413, HTML).end(page("413 Request Entity Too Large"))
          : undefined,
      ["chat", "needle"],
    );
    expect(causes.map(({ cause, probes }) => [cause, probes])).toEqual([
      [
        expect.stringMatching(
          /refuses a request as too large \(413, `413 Request Entity Too Large`\): one of 3\d{4} bytes, but takes one of \d{3}\.$/,
        ),
        ["needle"],
      ],
    ]);
  });

  it("cuts every stream off: vLLM isn't said to die", async () => {
    const { probes, causes } = await seenThrough(({ headers, text }, response) => {
      if (headers["content-type"]?.includes("event-stream") !== true) return undefined;
      response.writeHead(200, headers);
      return response.write(text.slice(0, 200), () => response.destroy());
    });
    expect(causes.map((each) => [each.id, each.cause, each.probes])).toEqual([
      [
        "answered-between",
        "Streams are cut off before their end (/v1/chat/completions), answers as a whole arrive, and vLLM still runs.",
        ["chat-stream"],
      ],
    ]);
    expect(JSON.stringify([probes, causes])).not.toContain("dying");
  });

  it("cuts requests off: no file of the model and no client's setting is named", async () => {
    const server = await startPlanned();
    const front = await startFront(
      server.port,
      () => undefined,
      (body) => body.slice(0, 4096),
    );
    const only = ["chat", "native-messages-path", "needle", "prefix-reuse"];
    const { probes, causes } = await found(planned(front.port), { only });
    await Promise.all([front.close(), server.close()]);
    expect(causes.map((each) => [each.id, each.cause, each.probes])).toEqual([
      [
        "answered-between",
        expect.stringMatching(
          /^Something between verify and vLLM, such as a proxy, cuts requests off on their way, or changes them: vLLM got JSON without its end \(`JSON decode error`\)\. It did so with one of 3\d{4} bytes, but takes one of 1\d{3}\.$/,
        ),
        ["native-messages-path", "needle", "prefix-reuse"],
      ],
    ]);
    expect(JSON.stringify([probes, causes])).not.toMatch(/truncation|via: bridge|prefixCaching/);
  });

  it.each<[string, Meddles, RegExp]>([
    [
      "reaches nothing",
      (_, response) => response.writeHead(502, HTML).end(page("502 Bad Gateway")),
      /^What answers at http:\/\/127\.0\.0\.1:\d+, a proxy by its status \(it says `nginx\/1\.24\.0`\), gets no answer/,
    ],
    [
      "sends elsewhere, and what may be a key in the address isn't shown",
      ({ path }, response) =>
        response.writeHead(301, { location: `https://me:pw@dgx.local${path}?token=abc` }).end(),
      /sends clients elsewhere \(301, to https:\/\/dgx\.local\/health\)\.$/,
    ],
  ])("%s: one probe fails, and nothing else is asked", async (_, meddles, cause) => {
    const { probes, causes } = await seenThrough(meddles);
    expect(causes.map((each) => [each.id, each.probes])).toEqual([
      ["answered-between", ["health"]],
    ]);
    expect(causes[0]?.cause).toMatch(cause);
    expect(JSON.stringify([probes, causes])).not.toMatch(/pw@|token=abc/);
    expect(probes.filter(({ status }) => status === "skip")).toHaveLength(ONLY.length - 1);
  });
});

type Answers = Readonly<Record<string, readonly [status: number, type: string, text: string]>>;

const models = (owner: string) =>
  [200, "application/json", JSON.stringify({ data: [{ id: "m", owned_by: owner }] })] as const;

describe("another program at the address", () => {
  const cases: readonly [string, Answers, string][] = [
    [
      "Ollama",
      { "/v1/models": models("library"), "/": [200, "text/plain", "Ollama is running"] },
      "its models are `owned_by: library`",
    ],
    [
      "llama.cpp",
      {
        "/health": [200, "application/json", '{"status":"ok"}'],
        "/v1/models": models("llamacpp"),
      },
      "its models are `owned_by: llamacpp`",
    ],
    [
      "a web server",
      {
        "*": [404, "text/html", page("404 Not Found")],
        "/": [200, "text/html", "<html><title>Welcome to nginx!</title>"],
      },
      "it calls itself `nginx/1.24.0` and it says `Welcome to nginx!`",
    ],
    [
      "a page for everything",
      { "*": [200, "text/html", "<!doctype html><html><title>Open WebUI</title>"] },
      "it says `Open WebUI`",
    ],
    [
      "another API",
      { "*": [200, "application/json", '{"status":"ok"}'] },
      "it answers neither /v1/models nor /metrics as vLLM does",
    ],
  ];

  it.each(cases)("%s is one cause, and nothing else is asked", async (_, answers, self) => {
    let asked = 0;
    const server = await listening(
      createServer(({ url = "" }, response) => {
        asked += 1;
        const [status, type, text] = answers[url] ??
          answers["*"] ?? [404, "text/plain", "404 page not found"];
        response.writeHead(status, { "content-type": type }).end(text);
      }),
    );
    const { probes, causes } = await found(planned(server.port), { only: ONLY });
    await server.close();
    expect(causes.map(({ id, cause }) => [id, cause])).toEqual([
      ["not-vllm", `What answers at ${server.url} is not vLLM: ${self}.`],
    ]);
    expect(probes.filter(({ status }) => status === "fail")).toHaveLength(1);
    expect(asked).toBeLessThanOrEqual(5);
  });

  it("that says nothing is told from an engine that hangs", async () => {
    const server = await listening(createServer(() => {}));
    const { causes } = await found(planned(server.port), { only: ONLY, timeoutSeconds: 0.2 });
    await server.close();
    expect(causes.map(({ id, cause }) => [id, cause])).toEqual([
      [
        "not-vllm",
        `What listens at ${server.url} takes connections and answers nothing, not even /health.`,
      ],
    ]);
  });
});

describe("a balancer over servers that differ", () => {
  const [OWN, OTHER] = [131_072, 32_768];

  it.each<[string, (text: string) => string, string]>([
    [
      "in their window",
      (text) => text.replaceAll(`"max_model_len":${OWN}`, `"max_model_len":${OTHER}`),
      `with a window of ${OTHER}`,
    ],
    ["in their model", (text) => text.replaceAll(/"id":"[^"]+"/g, '"id":"other"'), "`other`"],
    [
      "in their release",
      (text) => text.replace(/"version":"[^"]+"/, '"version":"0.26.0"'),
      "vLLM 0.26.0",
    ],
  ])("%s is named, and nothing else", async (_, change, said) => {
    let asked = 0;
    const { causes, probes } = await seenThrough(
      ({ text }, response) =>
        asked++ % 2 === 1 && /^\{"(?:object|version|data)"/.test(text)
          ? response.writeHead(200, JSON_TYPE).end(change(text))
          : undefined,
      ["health", "models", "max-model-len"],
    );
    expect(causes.map(({ id }) => id)).toEqual(["several-servers"]);
    expect(causes[0]?.cause).toContain("answer in turns at http://127.0.0.1:");
    expect(causes[0]?.cause).toContain(said);
    expect(failed(probes)).toContain("models");
  });
});
