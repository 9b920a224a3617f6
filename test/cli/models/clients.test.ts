import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { fitModel } from "../../../cli/models/fit";
import { seatFor } from "../../../cli/models/seat";
import { changeModel, seatOf } from "../../../cli/models/useModel";
import { readOneMachine } from "../../../cli/stack/readStack";
import { applyEdits, type Edit } from "../../../cli/stackEdit/applyEdits";
import { readRecipe } from "../../../components/catalogue/readCatalogue";
import { temporaryFolder } from "../../layers/temporaryFolder";

const project = process.cwd();
const [PINNED = ""] =
  /(?<=vllm-openai:v0\.30\.0@)sha256:\w+/.exec(readFileSync("Pulumi.dgx.yaml", "utf8")) ?? [];
const OLD = "qwen3.6-35b-a3b";

/** A server beside `b`, small enough for both. */
const server = (kind: string, port: number) => ({
  model: { id: `org/${kind}`, kind },
  ...{ servedModelName: kind, image: `vllm/vllm-openai:v0.30.0@${PINNED}`, port },
  versions: {
    ...{ vllm: "0.30.0", transformers: "5.10.4", evidence: "read" },
    ...{ digest: PINNED, source: "test" },
  },
  ...(kind === "chat" ? { tools: { parser: "hermes" } } : {}),
  ...{ gpuMemoryUtilization: 0.1, maxModelLen: 1024 },
});

/** The sample's one machine with these values, by their paths below it. */
function stackWith(values: Readonly<Record<string, Edit["value"]>>) {
  const own = { instanceA: "none", bridge: undefined, chatUi: undefined, clients: {}, ...values };
  const edits = Object.entries(own).map(([path, value]) => ({
    path: ["machines", "dgx", ...path.split(".")],
    value,
  }));
  const file = join(temporaryFolder("clients-"), "Pulumi.dgx.yaml");
  const removed = edits.map(({ path }) => ({ path, value: undefined }));
  const text = readFileSync("Pulumi.dgx.yaml", "utf8");
  writeFileSync(file, applyEdits(text, [...removed, ...edits]));
  return readOneMachine(file);
}

const recipeOf = (id: string) => {
  const recipe = readRecipe(project, id);
  if (recipe === undefined) throw new Error(`no recipe of ${id}`);
  return recipe;
};

const SMALL = "openai/gpt-oss-20b";
const CHAT = "openai/gpt-oss-120b";
const EMBEDDING = "Qwen/Qwen3-Embedding-0.6B";

/** The machine after a server got a model. */
function afterUse(
  values: Readonly<Record<string, Edit["value"]>>,
  asked: { readonly model: string; readonly named?: string; readonly drafts?: boolean },
) {
  const { model, named, drafts = false } = asked;
  const stack = stackWith(values);
  const recipe = recipeOf(model);
  const seat = { ...seatFor(recipe, seatOf(stack, project, named)), drafts };
  const { after } = changeModel(stack, seat, recipe);
  return parse(after).config["local-serving:machines"].dgx;
}

const clientsAfter = (...asked: Parameters<typeof afterUse>) => afterUse(...asked).clients;

describe("what a model changes in the clients", () => {
  const room = { "inferenceServers.b.gpuMemoryUtilization": 0.45 };

  it("names the server of a client that named none, where a second one writes text", () => {
    const clients = { codex: {}, opencode: { server: "b" }, clientEnv: { model: OLD } };
    expect(clientsAfter({ ...room, clients }, { model: SMALL, named: "c" })).toEqual({
      codex: { server: "b" },
      opencode: { server: "b" },
      clientEnv: { model: OLD, server: "b" },
    });
  });

  it("leaves clients as they are where the only server changes, but for a name that is gone", () => {
    const clients = {
      folder: "/srv/clients",
      codex: {},
      opencode: { server: "b" },
      pi: { model: OLD },
      crush: { server: "b", model: "nvidia/Qwen3.6-35B-A3B-NVFP4" },
      clientEnv: { model: CHAT },
      qwenCode: { model: "gpt-oss-120b" },
    };
    expect(clientsAfter({ clients }, { model: CHAT })).toEqual({
      ...clients,
      pi: {},
      crush: { server: "b" },
    });
  });

  it("keeps the name of a client that uses another server", () => {
    const servers = { "inferenceServers.c": server("chat", 8002) };
    const clients = {
      codex: { server: "c", model: "chat" },
      pi: { server: "b", model: OLD },
    };
    expect(clientsAfter({ ...servers, clients }, { model: SMALL, named: "b" })).toEqual({
      codex: { server: "c", model: "chat" },
      pi: { server: "b" },
    });
  });

  it("moves a client away from a server that writes no text", () => {
    const servers = { "inferenceServers.embedding": server("embedding", 8002) };
    const clients = { codex: { server: "embedding", model: "embedding" }, pi: { server: "b" } };
    expect(clientsAfter({ ...servers, clients }, { model: SMALL })).toEqual({
      codex: { server: "b" },
      pi: { server: "b" },
    });
  });

  it("never names a server for vectors, nor counts it as a second one", () => {
    const clients = { codex: {}, pi: { server: "b", model: OLD } };
    const small = { ...room, clients };
    const { clients: after, inferenceServers } = afterUse(small, { model: EMBEDDING });
    expect([after, Object.keys(inferenceServers)]).toEqual([clients, ["b", "embedding"]]);
    const servers = { "inferenceServers.embedding": server("embedding", 8002) };
    expect(clientsAfter({ ...servers, clients: { codex: {} } }, { model: SMALL })).toEqual({
      codex: {},
    });
  });
});

const MEASURED = {
  ...{ nonKvGiB: 80, kvTokens: 400_000, maxConcurrency: 1.5, at: "2026-11-21" },
  image: PINNED,
};
const SPEEDS = { prefill: 2000, decode: 50, at: "2026-11-21", image: PINNED };
const measuredAs = (id: string, measured: Edit["value"] = MEASURED) => ({
  "inferenceServers.b.model.id": id,
  "inferenceServers.b.measured": measured,
  "inferenceServers.b.measuredSpeeds": SPEEDS,
});
/** Served by the sample, with its recipe's values. */
const SAMPLE = "nvidia/Qwen3.6-35B-A3B-NVFP4";
const SUPER = "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4";

describe("what was measured", () => {
  it("stays with the same model, and goes with another", () => {
    const kept = afterUse(measuredAs(SUPER), { model: SUPER }).inferenceServers.b;
    expect(kept.measured).toEqual(MEASURED);
    const { b } = afterUse(measuredAs(SUPER), { model: CHAT }).inferenceServers;
    expect([b.model.id, "measured" in b, "measuredSpeeds" in b]).toEqual([CHAT, false, false]);
  });

  it("is a speed only of the settings on which that depends", () => {
    const speedsAfter = (values: Record<string, Edit["value"]>, drafts = false) =>
      afterUse(
        { "inferenceServers.b.measuredSpeeds": SPEEDS, ...values },
        { model: SAMPLE, drafts },
      ).inferenceServers.b.measuredSpeeds;
    expect(speedsAfter({})).toEqual(SPEEDS);
    expect(speedsAfter({ "inferenceServers.b.maxNumSeqs": 2 })).toEqual(SPEEDS);
    expect(speedsAfter({ "inferenceServers.b.environment": { HTTP_PROXY: "x" } })).toEqual(SPEEDS);
    expect(speedsAfter({ "inferenceServers.b.moeBackend": "cutlass" })).toBeUndefined();
    expect(speedsAfter({}, true)).toBeUndefined();
  });

  it.each([
    ["nothing", {}, "computed at best"],
    ["this model with this image", measuredAs(SUPER), "started here"],
    [
      "this model with another image",
      measuredAs(SUPER, { ...MEASURED, image: `sha256:${"0".repeat(64)}` }),
      "computed at best",
    ],
    ["another model", measuredAs(CHAT), "computed at best"],
  ])("is what a verdict rests on: %s", (_, values, evidence) => {
    const stack = stackWith(values);
    expect(fitModel(recipeOf(SUPER), seatOf(stack, project)).evidence).toBe(evidence);
  });

  it("gives the cache a size in bytes, where it says what lies beside that", () => {
    const bytesAt = (takenGiB?: number) => {
      const measured = {
        ...MEASURED,
        nonKvGiB: 30,
        ...(takenGiB === undefined ? {} : { takenGiB }),
      };
      const { values, byShare } = fitModel(
        recipeOf(CHAT),
        seatOf(stackWith(measuredAs(CHAT, measured)), project),
      );
      const of = (key: string) => values.find(({ path }) => path.join() === key)?.value;
      return {
        share: Number(of("gpuMemoryUtilization")),
        bytes: of("kvCacheMemoryBytes"),
        byShare,
      };
    };
    expect(bytesAt().bytes).toBeUndefined();
    const { share, bytes } = bytesAt(27.6);
    expect(bytes).toBe(Math.floor((share * 121.63 - 27.6) * 2 ** 30));
    const none = bytesAt(Math.floor(share * 121.63) - 1);
    expect(none.bytes).toBeUndefined();
    expect(none.byShare).toContain("leaves no whole window");
  });
});
