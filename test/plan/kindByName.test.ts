import { expect, it } from "vitest";
import { plan } from "../../components/plan/plan";
import { stack } from "../fixtures/machine";

const warned = (server: Record<string, unknown>) =>
  plan(stack({}, server), { home: "/home/me" })
    .warnings.filter(({ code }) => code === "kind-by-name")
    .map(({ message }) => message);

const EMBEDDING =
  "is for embeddings: it is `model.kind: embedding`, which runs with --runner pooling and without tools or clients.";

it.each<[string, Record<string, unknown>, string | undefined]>([
  ["BAAI/bge-m3", {}, `b: its model is of another kind, by its name. BAAI/bge-m3 ${EMBEDDING}`],
  ["BAAI/bge-m3", { kind: "embedding" }, undefined],
  ["BAAI/bge-reranker-v2-m3", {}, "`model.kind: rerank`"],
  ["BAAI/bge-reranker-v2-m3", { kind: "rerank" }, undefined],
  ["meta-llama/Llama-Guard-4-12B", {}, "it is `tools: { autoChoice: false }`"],
  ["openai/whisper-large-v3", {}, "turns speech into text, so it is no chat model"],
  ["Qwen/Qwen3-VL-8B-Instruct", {}, undefined],
  ["Qwen/Qwen3-8B", {}, undefined],
])("a plan tells what the name %s says against %j", (id, model, words) => {
  const found = warned({ model: { id, weightsGB: 8, ...model } });
  expect(found).toEqual(words === undefined ? [] : [expect.stringContaining(words)]);
});

it("says nothing more of a guard without tools", () => {
  const model = { id: "meta-llama/Llama-Guard-4-12B" };
  expect(warned({ model, tools: { autoChoice: false } })).toEqual([]);
});
