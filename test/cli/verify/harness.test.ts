import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Host } from "../../../cli/sees/host";
import { probesOf } from "../../../cli/verify/run/catalog";
import type { Plan } from "../../../components/plan/types";
import { FakeSsh } from "../../layers/fakeSsh";
import { httpServer } from "../../layers/httpServer";
import { type FaultName, OTHER_FAULTS } from "../../stand-in/faults";
import { type Capabilities, type OllamaStandIn, startOllama } from "../../stand-in/ollama";
import type { StandIn } from "../../stand-in/server";
import { emptyHost, machineOf, planned, resultOf, run, startPlanned, WINDOW } from "./environment";

const PROBES = [...probesOf("harness"), ...probesOf("harness-provider")].map(({ name }) => name);
const KEY = "sk-NoOutputMayHoldThis-0123456789";
const MODELS: Record<string, Capabilities> = {
  "qwen3:8b": ["completion"],
  "nomic-embed-text:latest": ["embedding"],
};

let server: StandIn;
let ollama: OllamaStandIn;
beforeAll(async () => {
  server = await startPlanned();
  ollama = await startOllama(MODELS);
});
afterAll(() => Promise.all([server.close(), ollama.close()]));

interface Scene {
  readonly harness?: Record<string, unknown>;
  readonly machine?: Record<string, unknown>;
  readonly serverPort?: number;
  readonly ollamaPort?: number;
  /** Takes the place of a file's text, by role; `undefined` for a file that is missing. */
  readonly files?: Readonly<Record<string, string | undefined>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly only?: readonly string[];
  readonly timeoutSeconds?: number;
}

function sceneOf(scene: Scene): { plan: Plan; host: Host } {
  const { serverPort = server.port, ollamaPort = ollama.port } = scene;
  const simpleServer = { mode: "host", port: ollamaPort, models: ["qwen3:8b"] };
  const harness = { maxTokens: WINDOW / 2, embeddingModel: "nomic-embed-text", ...scene.harness };
  const plan = planned(serverPort, {}, { simpleServer, harness, ...scene.machine });
  const files = machineOf(plan).files.map(({ role, path, mode, text }) => {
    const written = scene.files !== undefined && role in scene.files ? scene.files[role] : text;
    return [path, written === undefined ? undefined : { mode, text: written }] as const;
  });
  const disk = new Map(files);
  const env = scene.env ?? { HX_LOCAL_KEY: KEY, PATH: process.env.PATH ?? "" };
  return { plan, host: emptyHost({ env, file: async (path) => disk.get(path) }) };
}

async function probe(scene: Scene = {}) {
  const { plan, host } = sceneOf(scene);
  const { only = PROBES, timeoutSeconds = 10 } = scene;
  const results = await run(plan, { only, timeoutSeconds }, host);
  expect(JSON.stringify(results)).not.toContain(KEY);
  return results;
}

const said = (results: Awaited<ReturnType<typeof probe>>) =>
  results.map(({ target, name, status }) => `${target}: ${name} ${status}`);
const failures = (results: Awaited<ReturnType<typeof probe>>) =>
  results.filter(({ status }) => status === "fail").map(({ target, name }) => `${target}: ${name}`);

const B = "provider local-b";
const OLLAMA = "provider ollama";
const FILES = "the harness's files";

describe("the harness's providers and its session-analytics file", () => {
  it("are asked as they are written on the machine, and all is well", async () => {
    const results = await probe();
    expect(said(results)).toEqual([
      `${FILES}: harness-profile pass`,
      `${FILES}: harness-judge pass`,
      `${FILES}: harness-embedding pass`,
      `${B}: harness-healthcheck pass`,
      `${B}: harness-chat pass`,
      `${B}: harness-model skip`,
      `${OLLAMA}: harness-healthcheck pass`,
      `${OLLAMA}: harness-chat skip`,
      `${OLLAMA}: harness-model pass`,
    ]);
    expect(results.map(({ detail }) => detail)).toEqual([
      "local-b, ollama",
      `model at http://127.0.0.1:${server.port}/v1 answers with JSON`,
      "nomic-embed-text: 3 dimensions",
      "the command exits with 0",
      "answered; it takes both switches that turn hidden reasoning off",
      "harness-chat asks for its model",
      "the command exits with 0",
      "harness-model looks for its model instead: no model of Ollama is loaded for this",
      "qwen3:8b",
    ]);
  });

  it("are skipped with the reason where the stack file has no `harness`", async () => {
    const results = await run(planned(server.port), { only: PROBES });
    expect(results.map(({ name, status, detail }) => [name, status, detail])).toEqual(
      PROBES.map((name) => [name, "skip", "the stack file has no `harness`"]),
    );
  });

  it("are asked through forwarded ports on a machine over ssh", async () => {
    vi.stubEnv("PATH", new FakeSsh().path);
    const results = await probe({ machine: { dockerHost: "ssh://me@dgx" } });
    vi.unstubAllEnvs();
    expect(results.filter(({ status }) => status === "skip").map(({ name }) => name)).toEqual([
      "harness-model",
      "harness-chat",
    ]);
    expect(failures(results)).toEqual([]);
    const judge = results.find(({ name }) => name === "harness-judge")?.detail ?? "";
    expect(judge).toMatch(/^model at http:\/\/127\.0\.0\.1:\d+\/v1 answers with JSON$/);
    expect(judge).not.toContain(`:${server.port}/`);
  });

  it("run one by one by their names", async () => {
    expect(said(await probe({ only: ["harness-judge"] }))).toEqual([
      `${FILES}: harness-judge pass`,
    ]);
  });
});

/**
 * Each way in which the inference server can fail, and what the harness sees of it; of all others
 * it sees nothing.
 */
const SEEN: Partial<Record<FaultName, { probes: readonly string[]; detail: string; fix: string }>> =
  {
    lying: {
      probes: [`${FILES}: harness-judge`, `${B}: harness-chat`],
      detail: "answered 200 with an error: Internal server error",
      fix: "`machines.dgx.harness.judge` names the judge",
    },
    "answers-500": {
      probes: [`${FILES}: harness-judge`, `${B}: harness-chat`],
      detail: "answered 500: EngineCore encountered an issue.",
      fix: "`machines.dgx.harness.judge` names the judge",
    },
    "ignores-json": {
      probes: [`${FILES}: harness-judge`],
      detail: 'was asked for JSON and said `Sure! Here it is: {"ok": true}`',
      fix: "`machines.dgx.harness.judge` names the judge",
    },
  };

describe("faults of the inference server", () => {
  it.each(OTHER_FAULTS)("%s", async (fault) => {
    const failing = await startPlanned(fault);
    const results = await probe({ serverPort: failing.port });
    await failing.close();
    const { probes = [], detail, fix } = SEEN[fault] ?? {};
    expect(failures(results)).toEqual(probes);
    if (detail !== undefined) expect(resultOf(results, "harness-judge").detail).toContain(detail);
    if (fix !== undefined) expect(resultOf(results, "harness-judge").fix).toContain(fix);
  });
});

/**
 * Each other way to fail: what fails, how the first of them says it, and the setting that it names.
 */
const FAULTS: [string, () => Scene | Promise<Scene>, readonly string[], string, string][] = [
  [
    "the server is down",
    () => ({ serverPort: 1 }),
    [`${FILES}: harness-judge`, `${B}: harness-healthcheck`, `${B}: harness-chat`],
    "nothing listens there (connection refused)",
    "`machines.dgx.harness.judge`",
  ],
  [
    "the key's variable is not set",
    () => ({ env: { PATH: process.env.PATH ?? "" } }),
    [`${B}: harness-healthcheck`, `${B}: harness-chat`],
    "the command exits with 2",
    "or set `machines.dgx.harness.apiKeyVariable: none`",
  ],
  [
    "Ollama is down",
    () => ({ ollamaPort: 1 }),
    [`${FILES}: harness-embedding`, `${OLLAMA}: harness-healthcheck`, `${OLLAMA}: harness-model`],
    "nothing listens there (connection refused)",
    "`machines.dgx.harness.embeddingModel`",
  ],
  [
    "the reviewing model of Ollama is missing",
    () => ({ harness: { ollamaModel: "qwen3:32b" } }),
    [`${OLLAMA}: harness-model`],
    "has no model qwen3:32b",
    "`machines.dgx.harness.ollamaModel` names another",
  ],
  [
    "the judging model of Ollama is missing",
    () => ({ harness: { judge: "ollama", ollamaModel: "qwen3:32b" } }),
    [`${FILES}: harness-judge`, `${OLLAMA}: harness-model`],
    "has no model qwen3:32b",
    "`machines.dgx.simpleServer.models` with `pull: true`",
  ],
  [
    "Ollama is to judge with a model that makes no text",
    () => ({ harness: { judge: "ollama", ollamaModel: "nomic-embed-text" } }),
    [`${FILES}: harness-judge`],
    "nomic-embed-text at http://127.0.0.1",
    "`machines.dgx.harness.ollamaModel` must name a chat model",
  ],
  [
    "the embedding model is missing",
    () => ({ harness: { embeddingModel: "bge-m3" } }),
    [`${FILES}: harness-embedding`],
    'answered 404: model "bge-m3" not found, try pulling it first',
    "`machines.dgx.simpleServer.models` with `pull: true`",
  ],
  [
    "the embedding model is none",
    () => ({ harness: { embeddingModel: "qwen3:8b" } }),
    [`${FILES}: harness-embedding`],
    "/api/embed of qwen3:8b answered 501: this model does not support embeddings",
    "`machines.dgx.harness.embeddingModel` must name an embedding model",
  ],
  [
    "a vector without its model's name",
    async () => {
      const reply = { status: 200, body: { embeddings: [[0.5]] } };
      return { ollamaPort: await other({ "/api/embed": reply }) };
    },
    [`${FILES}: harness-embedding`],
    'answered 200 without a vector and its model\'s name: `{"embeddings":[[0.5]]}`',
    "`machines.dgx.harness.embeddingModel`",
  ],
  [
    "the server has another model than the profile names",
    () => ({ files: { "harness-providers": withText(/model = "model"/, 'model = "other"') } }),
    [`${B}: harness-chat`],
    "HTTP 404",
    "`machines.dgx.inferenceServers.b.servedModelName`",
  ],
  [
    "the profile is missing",
    () => ({ files: { "harness-providers": undefined } }),
    [`${FILES}: harness-profile`],
    "/home/me/.hx/providers.toml is missing",
    "`serving up` writes /home/me/.hx/providers.toml from `machines.dgx.harness`",
  ],
  [
    "the profile is no TOML",
    () => ({ files: { "harness-providers": "[[[" } }),
    [`${FILES}: harness-profile`],
    "/home/me/.hx/providers.toml:1:",
    "`serving up` writes",
  ],
  [
    "the profile holds a key",
    () => ({
      files: { "harness-providers": withText(/"HX_LOCAL_KEY"/, `"${KEY.replaceAll("-", "_")}"`) },
    }),
    [`${FILES}: harness-profile`],
    "providers.local-b.api_key_env",
    "`serving up` writes",
  ],
  [
    "the profile names nobody",
    () => ({ files: { "harness-providers": '[copyright]\ncompany = ""\n' } }),
    [`${FILES}: harness-profile`],
    "it names no provider",
    "`serving up` writes",
  ],
  [
    "a healthcheck does not end",
    () => ({
      files: {
        "harness-providers": withText(/healthcheck = "curl.*models"/, 'healthcheck = "sleep 300"'),
      },
      timeoutSeconds: 1,
    }),
    [`${B}: harness-healthcheck`],
    "the command did not end within 1 s",
    "serving status --wait",
  ],
  [
    "the session-analytics file is missing",
    () => ({ files: { "harness-analytics": undefined } }),
    [`${FILES}: harness-judge`, `${FILES}: harness-embedding`],
    "/home/me/.hx/session-analytics.json is missing",
    "`serving up` writes /home/me/.hx/session-analytics.json",
  ],
  [
    "the session-analytics file is no JSON",
    () => ({ files: { "harness-analytics": "{" } }),
    [`${FILES}: harness-judge`, `${FILES}: harness-embedding`],
    "not valid JSON",
    "`serving up` writes",
  ],
  [
    "the session-analytics file has a wrong value",
    () => ({ files: { "harness-analytics": '{"judge":{"workers":"two"}}' } }),
    [`${FILES}: harness-judge`, `${FILES}: harness-embedding`],
    "judge.workers: Expected",
    "`serving up` writes",
  ],
  [
    "the judge has no address",
    () => ({
      files: { "harness-analytics": '{"judge":{"default":{"backend":"openai","model":"m"}}}' },
    }),
    [`${FILES}: harness-judge`],
    "`judge.base_url` is empty",
    "`machines.dgx.harness.judge`",
  ],
];

const opened: OllamaStandIn[] = [];
afterAll(() => Promise.all(opened.map((each) => each.close())));

async function other(overlay: Parameters<typeof startOllama>[1]): Promise<number> {
  const started = await startOllama(MODELS, overlay);
  opened.push(started);
  return started.port;
}

/** The profile as it is planned, with a part of it changed by hand. */
function withText(pattern: RegExp, replacement: string): string {
  const { plan } = sceneOf({});
  const text = machineOf(plan).files.find(({ role }) => role === "harness-providers")?.text ?? "";
  expect(text).toMatch(pattern);
  return text.replace(pattern, replacement);
}

describe("every other fault is seen by its own probes, which name the setting", () => {
  it.each(FAULTS)("%s", async (_, scene, probes, detail, fix) => {
    const results = await probe(await scene());
    expect(failures(results)).toEqual(probes);
    const first = results.find(({ status }) => status === "fail");
    expect(first?.detail).toContain(detail);
    expect(first?.fix).toContain(fix);
  });

  it("has every probe in it", () => {
    const seen = [...Object.values(SEEN), ...FAULTS.map(([, , probes]) => ({ probes }))];
    const names = new Set(seen.flatMap(({ probes }) => probes.map((each) => each.split(": ")[1])));
    expect([...names].sort()).toEqual([...PROBES].sort());
  });
});

describe("what can't be asked", () => {
  it("is skipped: an embedding without a model", async () => {
    const results = await probe({
      harness: { embeddingModel: undefined },
      only: ["harness-embedding"],
    });
    expect(resultOf(results, "harness-embedding")).toMatchObject({
      status: "skip",
      detail:
        "no model is named (`machines.dgx.harness.embeddingModel`), so the harness embeds nothing",
    });
  });

  it("is skipped: a judge that is a program, an embedding by something else", async () => {
    const text = JSON.stringify({
      judge: {
        default: { backend: "claude-code" },
        by_copilot: { aider: { backend: "ollama", model: "" } },
      },
      embedding: { backend: "chroma", model: "m" },
    });
    const results = await probe({ files: { "harness-analytics": text } });
    expect(resultOf(results, "harness-judge")).toMatchObject({
      status: "skip",
      detail:
        "`claude-code` is a program, which is not asked here; no model is named, so the harness takes its own default",
    });
    expect(resultOf(results, "harness-embedding").detail).toBe(
      "its backend `chroma` can't be asked here",
    );
  });

  it("is skipped: what a program of the operator's own has no server for", async () => {
    const own =
      '\n[providers.codex]\ntype = "cli"\ncommand = "codex exec - < {review_request}"\nhealthcheck = "true"\n';
    const results = await probe({ files: { "harness-providers": `${withText(/$/, "")}${own}` } });
    const skipped = "a provider of type cli is asked by its healthcheck alone";
    expect(results.slice(-3).map(({ name, status, detail }) => [name, status, detail])).toEqual([
      ["harness-healthcheck", "pass", "the command exits with 0"],
      ["harness-chat", "skip", skipped],
      ["harness-model", "skip", skipped],
    ]);
  });

  it("is skipped: a provider whose table has a fault, while the others are asked", async () => {
    const files = { "harness-providers": withText(/max_tokens = \d+/, "max_tokens = 0") };
    expect(said(await probe({ files })).slice(3)).toEqual([
      `${B}: harness-healthcheck skip`,
      `${B}: harness-chat skip`,
      `${B}: harness-model skip`,
      `${OLLAMA}: harness-healthcheck pass`,
      `${OLLAMA}: harness-chat skip`,
      `${OLLAMA}: harness-model pass`,
    ]);
  });
});

describe("keys", () => {
  it("go to the server that they are for, and an echo of one is not shown", async () => {
    const judge = "sk-TheJudgesOwnKey-4711";
    const seen = new Set<string | undefined>();
    const { port: serverPort } = await httpServer((request, response) => {
      seen.add(request.headers.authorization);
      const status = request.url === "/v1/chat/completions" ? 400 : 200;
      response
        .writeHead(status)
        .end(JSON.stringify({ error: { message: `bad key ${judge} ${KEY}` } }));
    });
    const env = { HX_LOCAL_KEY: KEY, HX_SA_JUDGE_API_KEY: judge, PATH: process.env.PATH ?? "" };
    const results = await probe({ serverPort, env });
    expect(failures(results)).toEqual([`${FILES}: harness-judge`, `${B}: harness-chat`]);
    expect(resultOf(results, "harness-judge").detail).toContain(
      "answered 400: bad key <key> <key>",
    );
    expect(JSON.stringify(results)).not.toContain(judge);
    expect(seen).toEqual(new Set([`Bearer ${judge}`, `Bearer ${KEY}`]));
  });

  it("that are placeholders are words like others", async () => {
    const env = {
      HX_LOCAL_KEY: "local",
      HX_SA_JUDGE_API_KEY: "dummy",
      PATH: process.env.PATH ?? "",
    };
    const results = await probe({ env });
    expect(failures(results)).toEqual([]);
    expect(resultOf(results, "harness-profile").detail).toBe("local-b, ollama");
  });

  it("of a server that refuses them: the fix names the variable", async () => {
    const results = await probe({
      serverPort: (await httpServer((_, response) => response.writeHead(401).end("{}"))).port,
    });
    expect(resultOf(results, "harness-chat").fix).toContain(
      "take `--api-key` out of `machines.dgx.inferenceServers.b.extraArgs`",
    );
    expect(resultOf(results, "harness-judge").fix).toContain("Export HX_SA_JUDGE_API_KEY");
  });
});
