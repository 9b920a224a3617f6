import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { stringify } from "yaml";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { type Capabilities, type OllamaStandIn, startOllama } from "../../stand-in/ollama";
import { runServing } from "../runServing";
import { planned, run } from "./environment";

const PROBES = ["ollama-chat-tools", "ollama-messages-tools", "ollama-responses-tools"];
const CALL = 'read_file({"path":"/etc/hostname"}), streamed too';
const MODELS: Record<string, Capabilities> = {
  "qwen3:8b": ["completion", "tools"],
  "gemma3:latest": ["completion"],
};
const TODAY = new Date().toISOString().slice(0, 10);
const OTHER = "No coding client can use this model there: take another one, or pull it again.";

let ollama: OllamaStandIn;
beforeAll(async () => {
  ollama = await startOllama(MODELS);
});
afterAll(() => ollama.close());

type Simple = Readonly<Record<string, unknown>>;

async function verdicts(
  simple: Simple | undefined,
  only: readonly string[] = PROBES,
  { port } = ollama,
) {
  const machine = simple && { simpleServer: { mode: "host", port, ...simple } };
  const options = only.length === 0 ? {} : { only };
  const results = await run(planned(1, {}, machine), options);
  return results
    .filter(({ name }) => PROBES.includes(name))
    .map(({ target, name, status, detail, fix }) => [target, name, status, detail, fix]);
}

/** An Ollama that answers some requests otherwise, until the test is over. */
async function otherwise(overlay: Parameters<typeof startOllama>[1]) {
  const other = await startOllama(MODELS, overlay);
  onTestFinished(() => other.close());
  return other;
}

describe("tool calls of Ollama's models", () => {
  it("are asked for on each API, whole and streamed, of each declared model", async () => {
    const found = await verdicts({ models: ["qwen3:8b"] });
    expect(found).toEqual(PROBES.map((name) => ["qwen3:8b (Ollama)", name, "pass", CALL, ""]));
    const asked = ollama.asked.filter((each) => each.startsWith("/v1/"));
    expect(asked).toEqual(
      ["/v1/chat/completions", "/v1/messages", "/v1/responses"].flatMap((path) => [
        `${path} qwen3:8b`,
        `${path} qwen3:8b`,
      ]),
    );
  });

  it("are not asked for unasked, since that would load the model", async () => {
    const quiet = await otherwise({});
    expect(await verdicts({ models: ["qwen3:8b"] }, [], quiet)).toEqual(
      PROBES.map((name) => [
        "qwen3:8b (Ollama)",
        name,
        "skip",
        "asking would load the model; `serving verify --record` does it",
        "",
      ]),
    );
    expect(quiet.asked.filter((each) => each.startsWith("/v1/"))).toEqual([]);
    const toolCalls = { "qwen3:8b": "seen 2026-11-21" };
    const recorded = await verdicts({ models: ["qwen3:8b"], toolCalls }, [], quiet);
    expect(recorded.map(([, , status]) => status)).toEqual(["pass", "pass", "pass"]);
  });

  it("are left out where no model is declared, or no Ollama", async () => {
    const why = "the plan has no simple server on the host, or no model for it";
    for (const simple of [{}, undefined])
      expect(await verdicts(simple)).toEqual(PROBES.map((name) => ["dgx", name, "skip", why, ""]));
  });

  it("are not expected of a template without tools, unless they are recorded", async () => {
    const takes = "its template takes no tools (`ollama show gemma3`)";
    expect((await verdicts({ models: ["gemma3"] }))[0]?.slice(2)).toEqual(["skip", takes, ""]);
    const toolCalls = { gemma3: "seen 2026-11-21" };
    expect((await verdicts({ models: ["gemma3"], toolCalls }))[0]?.slice(2)).toEqual([
      "fail",
      takes,
      `${OTHER} Remove it from \`simpleServer.toolCalls\`.`,
    ]);
  });

  it("a model that is not there", async () => {
    expect((await verdicts({ models: ["qwen3:4b"] }))[0]?.slice(2)).toEqual([
      "fail",
      "it is not there",
      "ollama pull qwen3:4b",
    ]);
  });

  const said = (content: string) => ({
    status: 200,
    body: { choices: [{ message: { role: "assistant", content }, finish_reason: "stop" }] },
  });
  it.each([
    [
      "a call in the text",
      { "/v1/chat/completions": said('<tool_call>{"name": "read_file"}</tool_call>') },
      'tool_calls is empty, the call is written as XML in `content`: `<tool_call>{"name": "read_file"}</tool_call>`',
    ],
    [
      "a text instead of a call",
      { "/v1/chat/completions": said("I can't read files.") },
      "tool_calls is empty (finish_reason stop); it said `I can't read files.`",
    ],
    [
      "a stream that breaks off",
      { "/v1/chat/completions streamed": { status: 200, body: 'data: {"choices":[]}\n\n' } },
      "the stream broke off: it did not end with [DONE]",
    ],
    [
      "a stream without the call",
      {
        "/v1/chat/completions streamed": {
          status: 200,
          body: 'data: {"choices":[{"delta":{"content":"no"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
        },
      },
      "streamed: tool_calls is empty (finish_reason stop); it said `no`",
    ],
  ])("%s", async (_, overlay, detail) => {
    const [chat, ...others] = await verdicts(
      { models: ["qwen3:8b"] },
      PROBES,
      await otherwise(overlay),
    );
    expect(chat?.slice(2)).toEqual(["fail", detail, OTHER]);
    expect(others.map(([, , status]) => status)).toEqual(["pass", "pass"]);
  });
});

describe("serving verify --record", () => {
  const folder = temporaryFolder("verify-record-");
  let count = 0;

  function stackFile(simple: Simple, { port } = ollama) {
    const simpleServer = { mode: "host", port, ...simple };
    const machine = { totalGiB: 121.63, instanceA: "none", simpleServer };
    const file = join(folder, `Pulumi.s${count++}.yaml`);
    const clients = { claudeCode: { server: "simple-server", via: "native", model: "qwen3:8b" } };
    const machines = { dgx: { ...machine, clients } };
    writeFileSync(
      file,
      `# Kept.\n${stringify({ config: { "local-serving:machines": machines } })}`,
    );
    return file;
  }
  const verify = (file: string, ...args: string[]) =>
    runServing(["verify", "--file", file, ...args]);
  const verdict = async (file: string) => {
    const { out } = await runServing(["plan", "--file", file, "--format", "json"]);
    const { policies } = JSON.parse(out) as { policies: { name: string; verdict: string }[] };
    return policies.filter(({ name }) => name === "client-server").map((each) => each.verdict);
  };

  it("writes the models that passed before any `up`, after which the refused client may use them", async () => {
    const file = stackFile({ models: ["qwen3:8b", "gemma3"] });
    expect(await verdict(file)).toEqual(["refused"]);
    const before = readFileSync(file, "utf8");
    const { code, out } = await verify(file, "--record");
    expect(code).toBe(0);
    expect(readFileSync(`${file}.bak`, "utf8")).toBe(before);
    const after = readFileSync(file, "utf8");
    expect(after).toContain(`toolCalls:\n          qwen3:8b: seen ${TODAY}\n`);
    expect(after).toContain("# Kept.\n");
    expect(out).toContain(
      "3 passed, 0 failed, 3 skipped\nNot asked: gemma3 (Ollama): its template takes no tools (`ollama show gemma3`)\n\n---",
    );
    expect(out).toContain(`+          qwen3:8b: seen ${TODAY}`);
    expect(out).toMatch(/ is written; the old file is .*\.yaml\.bak\.$/m);
    expect(out).not.toContain("What to do next");
    expect(await verdict(file)).toEqual(["warned"]);
    const again = await verify(file, "--record", "--format", "json");
    expect(JSON.parse(again.out)).toMatchObject({ diff: "", backup: "", summary: { fail: 0 } });
  });

  it("keeps what is recorded of other models, and runs named probes beside its own", async () => {
    const toolCalls = { gemma3: "seen 2026-11-01", "qwen3:8b": "seen 2026-11-01" };
    const file = stackFile({ models: ["gemma3", "qwen3:8b"], toolCalls });
    const { code, out } = await verify(file, "--record", "--only", "ollama-version");
    expect([code, out.includes("ollama-version")]).toEqual([1, true]);
    expect(readFileSync(file, "utf8")).toContain(
      `toolCalls:\n          gemma3: seen 2026-11-01\n          qwen3:8b: seen ${TODAY}\n`,
    );
  });

  it("writes nothing where one API failed", async () => {
    const other = await otherwise({ "/v1/responses": { status: 500, body: { error: "no" } } });
    const file = stackFile({ models: ["qwen3:8b"] }, other);
    const before = readFileSync(file, "utf8");
    const { code, out } = await verify(file, "--record");
    expect([code, readFileSync(file, "utf8")]).toEqual([1, before]);
    expect(out).toContain(
      "No model of the simple server made a tool call on every API: nothing is recorded.",
    );
  });

  it("is proposed by a run that names the probes, with the lines to write", async () => {
    const file = stackFile({ models: ["qwen3:8b"] });
    const { code, out } = await verify(file, "--only", PROBES.join(","), "--format", "json");
    const { summary } = JSON.parse(out) as { summary: { next: string[] } };
    expect([code, summary.next]).toEqual([
      0,
      [
        `ollama-responses-tools: Record in the stack file, below machines.dgx.simpleServer (\`serving verify --record\` does it):\n  toolCalls:\n    qwen3:8b: seen ${TODAY}`,
      ],
    ]);
  });
});
