import { readFileSync } from "node:fs";
import { BYTES_PER_GIB } from "@local-serving/base/units/memory";
import type { ModelFiles } from "@local-serving/machines/modelFiles";
import { describe, expect, it } from "vitest";
import { adapterSlots } from "../../components/memory/adapterSlots";
import { plan } from "../../components/plan/plan";
import { declaredResources } from "../../components/program/machine/declaredResources";
import { inferenceServer } from "../../components/settings/inferenceServer";
import { judge } from "../../policies/judge";
import { serverInput, stack } from "../fixtures/machine";

const DENSE: object = JSON.parse(
  readFileSync("test/fixtures/hub-configs/Qwen3ForCausalLM.json", "utf8"),
);
const MOE = {
  num_hidden_layers: 48,
  hidden_size: 2048,
  num_attention_heads: 32,
  num_key_value_heads: 4,
  head_dim: 128,
  vocab_size: 151_936,
  intermediate_size: 6144,
  moe_intermediate_size: 768,
  num_experts: 128,
};
const HYBRID = {
  num_hidden_layers: 4,
  hidden_size: 2048,
  num_attention_heads: 16,
  num_key_value_heads: 2,
  head_dim: 256,
  vocab_size: 1000,
  intermediate_size: 512,
  full_attention_interval: 4,
  linear_num_key_heads: 16,
  linear_num_value_heads: 32,
  linear_key_head_dim: 128,
  linear_value_head_dim: 128,
  linear_conv_kernel_dim: 4,
};

const ADAPTERS = [
  { name: "tone", path: "/data/tone", rank: 12 },
  { name: "legal", path: "/data/legal", rank: 16 },
];
const server = (more: object = {}) =>
  inferenceServer.parse(serverInput({ adapters: ADAPTERS, maxLoraRank: 16, ...more }));
const of = (config: object | undefined, more: object = {}) =>
  adapterSlots(server(more), config && { source: "models/x/config.json", config });

/** Bytes of the slots of all layers, over the bytes of a number, rank and slots. */
const numbers = (found: ReturnType<typeof of>, per = 2 * 16 * 2) =>
  found !== undefined && "gib" in found ? (found.gib * BYTES_PER_GIB) / per : found;

describe("slots for adapters", () => {
  it("take every linear layer's inputs and outputs of a dense model", () => {
    const attention = 3 * 4096 + 4096 + 2 * 1024 + (4096 + 4096);
    const forward = 2 * 4096 + 2 * 22_016 + (22_016 + 4096);
    const vocabulary = 2 * (151_936 + 4096);
    expect(numbers(of(DENSE))).toBe(36 * (attention + forward) + vocabulary);
    expect(of(DENSE)).toMatchObject({ rank: 16, slots: 2 });
  });

  it("take those of each expert of a mixture, the router's too", () => {
    const attention = 3 * 2048 + 4096 + 2 * 512 + (4096 + 2048);
    const experts = 128 * (3 * 2048 + 3 * 768) + (2048 + 128);
    expect(numbers(of(MOE))).toBe(48 * (attention + experts) + 2 * (151_936 + 2048));
    const shared = { ...MOE, shared_expert_intermediate_size: 512 };
    const more = 2 * 2048 + 2 * 512 + (512 + 2048) + (2048 + 1);
    expect(numbers(of(shared))).toBe(48 * (attention + experts + more) + 2 * (151_936 + 2048));
    const first = { ...MOE, first_k_dense_replace: 1 };
    const dense = 2 * 2048 + 2 * 6144 + (6144 + 2048);
    expect(numbers(of(first))).toBe(48 * attention + 47 * experts + dense + 2 * (151_936 + 2048));
  });

  it("take the projections of a hybrid's linear layers, and its attention's gate", () => {
    const full = 3 * 2048 + 2 * 4096 + 2 * 512 + (4096 + 2048);
    const linear =
      4 * 2048 + 2 * 2048 + 2 * 4096 + (2 * 2048 + 2 * 32) + (4096 + 2048) + (4 + 2 * 2048 + 4096);
    const forward = 2 * 2048 + 2 * 512 + (512 + 2048);
    expect(numbers(of(HYBRID))).toBe(full + 3 * linear + 4 * forward + 2 * (1000 + 2048));
    const open = { ...HYBRID, attn_output_gate: false };
    expect(numbers(of(open))).toBe(full - 4096 + 3 * linear + 4 * forward + 2 * (1000 + 2048));
  });

  it("divide outputs among ranks, and are made in the named layers alone", () => {
    const attention = 3 * 2048 + 2048 + 512 + (2048 + 2048);
    const experts = 128 * (3 * 2048 + (3 * 768) / 2) + (2048 + 128);
    expect(numbers(of(MOE, { tensorParallelSize: 2 }))).toBe(
      48 * (attention + experts) + 2 * (151_936 + 2048),
    );
    const some = { loraTargetModules: ["q_proj", "o_proj"] };
    expect(numbers(of(MOE, some))).toBe(48 * (3 * 2048 + 4096 + 2 * 512 + (4096 + 2048)));
  });

  it.each<[string, object | undefined, object, string]>([
    ["no config", undefined, {}, "no config.json of org/model is known"],
    ["no rank", MOE, { maxLoraRank: undefined }, "the rank of its adapters isn't known"],
    [
      "a config without widths",
      { ...MOE, vocab_size: undefined },
      {},
      "its config.json lacks vocab_size",
    ],
    [
      "no width of a layer",
      { ...MOE, num_experts: undefined, intermediate_size: undefined },
      {},
      "its config.json lacks intermediate_size",
    ],
    [
      "compressed attention",
      { ...MOE, kv_lora_rank: 512, qk_rope_head_dim: 64 },
      {},
      "its attention caches compressed vectors, and such layers can't be counted",
    ],
    [
      "experts in some layers",
      { ...MOE, decoder_sparse_step: 2 },
      {},
      "not all its layers have experts",
    ],
  ])("are not known with %s", (_, config, more, why) => {
    expect(of(config, more)).toEqual({ why });
  });

  it("need no width of what they aren't made for", () => {
    const targets = { loraTargetModules: ["q_proj", "o_proj"] };
    const without = { ...MOE, vocab_size: undefined };
    expect(of(without, targets)).toEqual(of(MOE, targets));
    expect(of(without, { loraTargetModules: ["lm_head"] })).toEqual({
      why: "its config.json lacks vocab_size",
    });
  });

  it.each([
    ["nvidia--Qwen3.6-35B-A3B-NVFP4", 1.21],
    ["Qwen--Qwen3-32B-FP8", 0.13],
    ["openai--gpt-oss-20b", 0.21],
  ])("of %s are counted by its config in the catalogue", (name, gib) => {
    const config = JSON.parse(readFileSync(`models/${name}/config.json`, "utf8"));
    const found = of(config, { maxLoraRank: 8, maxLoras: 1 });
    expect(found !== undefined && "gib" in found && Number(found.gib.toFixed(2))).toBe(gib);
  });

  it("are none without adapters", () => {
    expect(adapterSlots(inferenceServer.parse(serverInput()), undefined)).toBeUndefined();
  });
});

const files = (weightsBytes: number, r: number): ModelFiles => ({
  files: ["adapter_config.json", "adapter_model.safetensors"],
  linksOutside: [],
  adapterConfig: JSON.stringify({
    r,
    lora_alpha: 32,
    target_modules: ["q_proj"],
    base_model_name_or_path: "org/model",
  }),
  weightsBytes,
  digest: "d",
});

describe("a plan with adapters", () => {
  const planned = (server: object, folders: Record<string, ModelFiles> = {}, config = DENSE) => {
    const { machines, warnings } = plan(
      stack({}, { model: { id: "org/model", weightsGB: 16 }, ...server }),
      {
        home: "/home/me",
        models: { "org/model": { source: "models/org--model/config.json", config } },
        folders: { dgx: folders },
      },
    );
    return { machine: machines[0], warnings };
  };
  const kvOf = (server: object, folders = {}) =>
    planned(server, folders).machine?.kv["vllm-model-8001"]?.room;
  const FILES = { "/data/tone": files(300 * 2 ** 20, 12), "/data/legal": files(2 ** 30, 16) };

  it("has less room for the KV cache by the slots, and says that they are computed", () => {
    const without = kvOf({});
    const room = kvOf({ adapters: ADAPTERS }, FILES);
    expect(without?.outsideGiB).toEqual({ low: 17.8, high: 44.8 });
    // 4,090,624 numbers x 16 x 2 slots x 2 bytes.
    expect(room?.outsideGiB).toEqual({ low: 18.04, high: 45.04 });
    expect(room?.source).toBe(
      `${without?.source}, and 0.24 of 2 slots for adapters of rank 16 (computed from its config.json)`,
    );
  });

  it("counts what is kept in the host's memory: its largest adapters, by their files", () => {
    const line = (server: object, folders: Record<string, ModelFiles> = FILES) =>
      planned({ adapters: ADAPTERS, ...server }, folders).machine?.ledger.lines.find(({ name }) =>
        name.endsWith(": adapters"),
      );
    expect(line({})).toEqual({
      name: "vllm-model-8001: adapters",
      gib: 1.29,
      basis: "default",
      source: "2 adapters kept in the host's memory beside the slots, by the size of their files",
    });
    expect(line({ maxLoras: 1 })?.gib).toBe(1);
    expect(line({ maxLoras: 1, maxCpuLoras: 2 })?.gib).toBe(1.29);
    expect(line({}, { "/data/tone": files(300 * 2 ** 20, 12) })).toEqual({
      name: "vllm-model-8001: adapters",
      gib: 0.41,
      basis: "default",
      source:
        "2 adapters kept in the host's memory beside the slots, computed: by their files, or a whole slot",
    });
  });

  it("counts them with a server that starts on request, and no policy misses them", () => {
    const inputs = {
      b: serverInput({
        ...{ start: "onRequest", adapters: ADAPTERS, maxLoras: 1, maxCpuLoras: 2 },
        ...{ gpuMemoryUtilization: 0.6, port: 8001 },
      }),
      c: serverInput({
        ...{ start: "onRequest", servedModelName: "c", gpuMemoryUtilization: 0.7, port: 8002 },
      }),
    };
    const settings = stack({ instanceA: "none", inferenceServers: inputs });
    const whole = plan(settings, { home: "/home/me", folders: { dgx: FILES } });
    const [machine] = whole.machines;
    const kept = machine?.together?.servers.map(({ key, adaptersGiB }) => [key, adaptersGiB]);
    expect(kept).toEqual([
      ["b", 1.29],
      ["c", undefined],
    ]);
    const judged = judge(declaredResources(whole));
    expect(judged.filter(({ verdict }) => verdict === "refused")).toEqual([]);
  });

  it("says what it can't count", () => {
    const { warnings } = planned({ adapters: ADAPTERS }, FILES, {
      ...DENSE,
      vocab_size: null,
    } as object);
    expect(
      warnings.filter(({ code }) => code === "adapters-uncounted").map(({ message }) => message),
    ).toEqual([
      "b: the slots for its adapters aren't counted: its config.json lacks vocab_size. The KV cache has less room than the plan says. Put the model's config.json into the model cache or models/, or measure (`serving verify --only memory`).",
    ]);
  });
});
