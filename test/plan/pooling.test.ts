import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { plan } from "../../components/plan/plan";
import type { MachinePlan } from "../../components/plan/types";
import { crossFaults } from "../../components/settings/crossFaults";
import { serverInput, stack } from "../fixtures/machine";
import { BRIDGE, CHAT_UI, fileOf, HOME } from "../fixtures/services";

const pooling = (
  kind: "embedding" | "rerank",
  port: number,
  overlay: Record<string, unknown> = {},
) =>
  serverInput({
    model: { id: `org/${kind}`, kind, weightsGB: 1 },
    servedModelName: kind,
    port,
    gpuMemoryUtilization: 0.05,
    ...overlay,
  });
const THREE = {
  b: serverInput({ gpuMemoryUtilization: 0.3 }),
  search: pooling("embedding", 8002),
  sort: pooling("rerank", 8003),
};
const settingsOf = (machine: Record<string, unknown>) =>
  stack({ inferenceServers: THREE, ...machine });
function planned(machine: Record<string, unknown> = {}): MachinePlan {
  const [only] = plan(settingsOf({ bridge: BRIDGE, chatUi: CHAT_UI, ...machine }), {
    home: HOME,
  }).machines;
  if (only === undefined) throw new Error("a plan of one machine has one machine");
  return only;
}
const server = (key: string, machine = planned()) => {
  const found = machine.inferenceServers.find((each) => each.key === key);
  if (found === undefined) throw new Error(`no server ${key}`);
  return found;
};
const faultsOf = (machine: Record<string, unknown>) =>
  crossFaults(settingsOf(machine)).map(({ path, message }) => `${path}: ${message}`);

describe("a server of a model that writes no text", () => {
  it.each(["search", "sort"])(
    "`%s` is started with the pooling runner and nothing of a chat server",
    (key) => {
      const { container, serve } = server(key);
      const command = container.command.join(" ");
      expect(command).toContain("--runner pooling");
      for (const flag of [
        "parser",
        "tool-choice",
        "prefix-caching",
        "chunked-prefill",
        "speculative",
      ])
        expect(command).not.toContain(flag);
      expect(serve).toMatchObject({
        toolParser: null,
        reasoningParser: null,
        prefixCaching: false,
      });
    },
  );

  it("leaves a chat server's command as it was", () => {
    expect(server("b").container.command.join(" ")).not.toContain("--runner");
  });

  it("has a ledger line of its own, without what a chat model's compiling takes", () => {
    const { lines } = planned().ledger;
    const named = (key: string) =>
      lines.map(({ name }) => name).filter((name) => name.startsWith(server(key).container.name));
    expect(named("search")).toEqual(["vllm-embedding-8002", "vllm-embedding-8002: overshoot"]);
    const small = { model: { id: "org/model", weightsGB: 60 }, gpuMemoryUtilization: 0.3 };
    const chat = planned({ inferenceServers: { ...THREE, b: serverInput(small) } }).ledger;
    expect(chat.lines.map(({ name }) => name)).toContain("vllm-model-8001: compiling");
  });

  it("stands behind the chat server in the bridge, whatever its key, and answers to no tier", () => {
    const machine = planned({
      inferenceServers: { search: THREE.search, zb: THREE.b },
      bridge: BRIDGE,
    });
    const config: unknown = parse(fileOf(machine, "bridge-config").text);
    const names = (
      config as { model_list: { model_name: string; litellm_params: { model: string } }[] }
    ).model_list;
    expect(machine.bridge?.servers).toEqual(["zb", "search"]);
    expect(
      names.filter((each) => each.litellm_params.model === "hosted_vllm/embedding"),
    ).toHaveLength(2);
    expect(names.find((each) => each.model_name === "claude-*")?.litellm_params.model).toBe(
      "hosted_vllm/model",
    );
  });

  it("is no connection of the chat UI: it searches its documents", () => {
    const { container, servers } = planned().chatUi ?? {};
    expect(servers).toEqual(["b", "search", "sort"]);
    expect(container?.env).toMatchObject({
      OPENAI_API_BASE_URLS: "http://vllm-model-8001:8001/v1",
      RAG_EMBEDDING_ENGINE: "openai",
      RAG_EMBEDDING_MODEL: "embedding",
      RAG_OPENAI_API_BASE_URL: "http://vllm-embedding-8002:8002/v1",
      ENABLE_RAG_HYBRID_SEARCH: "True",
      RAG_RERANKING_ENGINE: "external",
      RAG_RERANKING_MODEL: "rerank",
      RAG_EXTERNAL_RERANKER_URL: "http://vllm-rerank-8003:8003/v1/rerank",
    });
  });

  it("is used by the chat UI where two could be only if it is named", () => {
    const two = { ...THREE, other: pooling("embedding", 8004, { servedModelName: "other" }) };
    const model = (chatUi: Record<string, unknown>) =>
      planned({ inferenceServers: two, chatUi: { ...CHAT_UI, ...chatUi } }).chatUi?.container.env
        .RAG_EMBEDDING_MODEL;
    expect(model({})).toBeUndefined();
    expect(model({ embeddingServer: "other" })).toBe("other");
  });

  it("leaves a chat UI without such servers as it was", () => {
    const { env } = planned({ inferenceServers: { b: THREE.b } }).chatUi?.container ?? {};
    expect(Object.keys(env ?? {}).filter((name) => name.includes("RAG"))).toEqual([]);
  });

  it("makes the harness's vectors where that is asked for", () => {
    const machine = planned({ harness: { embeddingServer: "search" } });
    expect(JSON.parse(fileOf(machine, "harness-analytics").text)).toMatchObject({
      embedding: { backend: "openai", model: "embedding", ollama_url: "http://127.0.0.1:8002/v1" },
    });
    const codes = plan(settingsOf({ harness: { embeddingServer: "search" } }), {
      home: HOME,
    }).warnings;
    expect(
      codes.map(({ code }) => code).filter((code) => code.startsWith("harness-no-emb")),
    ).toEqual([]);
  });

  it("is nobody's only server: a client takes the one that writes text", () => {
    expect(planned({ clients: { codex: {} } }).clients.map((client) => client.server)).toEqual([
      "b",
    ]);
  });
});

describe("settings of such a server", () => {
  const search = (overlay: Record<string, unknown>) => ({
    inferenceServers: { b: THREE.b, search: pooling("embedding", 8002, overlay) },
  });
  const DELETE =
    "A model of `kind: embedding` writes no text: delete this line, or change `model.kind`.";

  it.each([
    ["model.thinking", { model: { id: "org/e", kind: "embedding", thinking: true } }],
    ["tools.parser", { tools: { parser: "hermes" } }],
    ["reasoningParser", { reasoningParser: "qwen3" }],
    ["speculative", { speculative: { method: "mtp", numSpeculativeTokens: 1 } }],
  ])("refuse %s", (path, overlay) => {
    expect(faultsOf(search(overlay))).toEqual([
      `machines.dgx.inferenceServers.search.${path}: ${DELETE}`,
    ]);
  });

  it.each([
    [
      { chatUi: { ...CHAT_UI, embeddingServer: "b" } },
      "machines.dgx.chatUi.embeddingServer: `b` is not a server with `model.kind: embedding`: there is search.",
    ],
    [
      { inferenceServers: { b: THREE.b }, chatUi: { ...CHAT_UI, rerankServer: "b" } },
      "machines.dgx.chatUi.rerankServer: `b` is not a server with `model.kind: rerank`: none is declared.",
    ],
    [
      { harness: { embeddingServer: "sort" } },
      "machines.dgx.harness.embeddingServer: `sort` is not a server with `model.kind: embedding`: there is search.",
    ],
    [
      { chatUi: { ...CHAT_UI, connections: ["b", "search"] } },
      "machines.dgx.chatUi.connections.1: `search` writes no text: the chat UI uses it through `embeddingServer`. Delete it here.",
    ],
    [
      { harness: { embeddingServer: "search", embeddingModel: "nomic-embed-text" } },
      "machines.dgx.harness.embeddingModel: `embeddingServer` embeds the sessions: delete this line, or delete `embeddingServer` to let Ollama embed them.",
    ],
    [
      { bridge: { ...BRIDGE, servers: ["search", "sort"] } },
      "machines.dgx.bridge: No server behind the bridge writes text, so there is nothing to translate: remove the bridge, and use these servers directly.",
    ],
  ])("refuse %j", (machine, fault) => {
    expect(faultsOf(machine)).toEqual([fault]);
  });

  it("pass as they are advised", () => {
    expect(faultsOf({ bridge: BRIDGE, chatUi: { ...CHAT_UI, embeddingServer: "search" } })).toEqual(
      [],
    );
  });
});
