import { demandOf, gpusNeeded } from "@local-serving/vllm/argv/memoryDemand";
import { readServerArguments } from "@local-serving/vllm/argv/serverArguments";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plan } from "../../components/plan/plan";
import { declaredResources } from "../../components/program/machine/declaredResources";
import { judge } from "../../policies/judge";
import { stack } from "../fixtures/machine";

/**
 * Connectors of vLLM 0.23 to 0.33 that keep a cache in the host's memory or elsewhere, and one that
 * nobody knows.
 */
const KEEPING_KV = [
  ...[
    "LMCacheConnectorV1",
    "LMCacheMPConnector",
    "HiSparseConnector",
    "OffloadingConnector",
    "MooncakeStoreConnector",
  ],
  ...[
    "FlexKVConnectorV1",
    "SimpleCPUOffloadConnector",
    "HF3FSKVConnector",
    "MyConnector",
    "nixlconnector",
    "constructor",
  ],
];
const KEEPING_IMAGES = [
  "ECCPUConnector",
  "ECMooncakeConnector",
  "MooncakeStoreECConnector",
  "MyConnector",
];

const read = (...words: string[]) => demandOf(readServerArguments(["m", ...words]));

describe("memory outside the share", () => {
  it.each([
    [["--cpu-offload-gb", "20"], 20],
    [["--cpu_offload_gb=20"], 20],
    [["--cpu-offload-g=2.5"], 2.5],
    [["--kv-offloading-size", "8", "--cpu-offload-gb", "2"], 10],
    [["--kv-offloading-s=8", "--kv-offloading-backend", "native"], 8],
    // No known version has that option any more.
    [["--swap-space", "4", "--cpu-offload-gb", "1"], 1],
    [["--mm-ipc-gpu-memory-gb", "4"], 4],
    [["--mm_ipc_gpu_memory_gb=4", "--cpu-offload-gb", "1"], 5],
    [["--mm-processor-cache-gb", "4"], 8],
    [["--mm_processor_cache_gb=4"], 8],
    [["--mm-processor-cache-g", "4"], 8],
    [["--mm-processor-cache-gb", "4", "--mm-processor-cache-gb=0.5"], 1],
    [["--mm-processor-cache-gb", "2", "--api-server-count", "4"], 10],
    [["-asc", "4", "--mm-processor-cache-gb", "2"], 10],
    [["-as=4", "--mm-processor-cache-gb", "2"], 10],
    [["--mm-processor-cache-gb", "2", "--data-parallel-size", "2"], 8],
    [["--mm-processor-cache-gb", "2", "-dp", "2", "--api-server-count=1"], 6],
    [["--kv-transfer-config", '{"kv_connector":"P2pNcclConnector","kv_role":"kv_producer"}'], 32],
    [["--kv-transfer-config.kv_connector", "P2pNcclConnector"], 32],
    [
      [
        "--kv-transfer-config.kv_connector=P2pNcclConnector",
        "--kv-transfer-config.kv_connector_extra_config.mem_pool_size_gb=4",
      ],
      4,
    ],
    [
      [
        "--kv-transfer-config",
        '{"kv_connector":"P2pNcclConnector","kv_buffer_size":2147483648,"kv_connector_extra_config":{"mem_pool_size_gb":"1.5"}}',
      ],
      3.5,
    ],
    [
      [
        "--kv-transfer-config",
        '{"kv_connector":"MultiConnector","kv_connector_extra_config":{"connectors":[{"kv_connector":"P2pNcclConnector"},{"kv_connector":"NixlConnector"}]}}',
      ],
      32,
    ],
    [["--max-cpu-loras", "2", "--max-loras", "2", "--cpu-offload-gb", "1"], 1],
  ])("is counted: %j", (words, hostGiB) => {
    expect(read(...words)).toMatchObject({ known: true, memory: { hostGiB } });
  });

  it.each([
    [["--num-gpu-blocks-override", "9000"]],
    [["--num_gpu_blocks_override=9000"]],
    [["--num-gpu=9000"]],
    [["--offload-group-size", "8"]],
    [["--kv-offloading-size", "8", "--kv-offloading-backend", "lmcache"]],
    [["--cpu-offload-gb", "-4"]],
    [["--cpu-offload-gb", "inf"]],
    [["--kv-transfer-config", '{"kv_connector":"OffloadingConnector","kv_role":"kv_both"}']],
    [["--kv-transfer-config={kv_connector:"]],
    [["--kv-transfer-config.kv_connector", "LMCacheConnectorV1"]],
    [["--kv_transfer_config.kv_connector=SimpleCPUOffloadConnector"]],
    [
      [
        "--kv-transfer-config",
        '{"kv_connector":"MultiConnector","kv_connector_extra_config":{"connectors":[{"kv_connector":"OffloadingConnector"}]}}',
      ],
    ],
    ...["cpu", "CPU", "Cpu", " cpu", "xpu"].map((device) => [
      ["--kv-transfer-config", `{"kv_connector":"NixlConnector","kv_buffer_device":"${device}"}`],
    ]),
    [
      [
        "--kv-transfer-config.kv_connector=NixlConnector",
        "--kv-transfer-config.kv_buffer_device",
        "CPU",
      ],
    ],
    ...KEEPING_KV.map((name) => [
      ["--kv-transfer-config", `{"kv_connector":"${name}","kv_role":"kv_both"}`],
    ]),
    ...KEEPING_KV.map((name) => [[`--kv_transfer_config.kv_connector=${name}`]]),
    [
      [
        "--kv-transfer-config",
        '{"kv_connector":"NixlConnector","kv_connector_module_path":"my.module"}',
      ],
    ],
    [
      [
        "--kv-transfer-config",
        '{"kv_connector":"P2pNcclConnector","kv_connector_extra_config":{"mem_pool_size_gb":"much"}}',
      ],
    ],
    [["--kv-transfer-config.kv_connector_extra_config.connectors+", "NixlConnector"]],
    [["--kv-transfer-config"]],
    ...KEEPING_IMAGES.map((name) => [
      ["--ec-transfer-config", `{"ec_connector":"${name}","ec_role":"ec_both"}`],
    ]),
    [["--ec-transfer-config.ec_connector", "ECCPUConnector"]],
    [["--ec_transfer_config={ec_connector:"]],
    [["--ec-transfer-config", '{"ec_connector":"ECExampleConnector","ec_buffer_device":"CPU"}']],
    [["--mm-processor-cache-gb", "much"]],
    [["--mm-processor-cache-gb", "-1"]],
    [["--mm-processor-cache-gb"]],
    [["--mm-processor-cache-gb", "1", "--api-server-count", "many"]],
    [["--mm-processor-cache-gb", "1", "-dp", "many"]],
    [["--api-server-count", "2"]],
    [["-asc=16"]],
    [["--max-cpu-loras", "8"]],
    [["--max_cpu_loras=8", "--enable-lora", "--max-loras", "4"]],
    [["--max-cpu-l", "many"]],
  ])("that can't be counted is refused: %j", (words) => {
    expect(read(...words)).toMatchObject({ known: false });
  });

  it.each([
    [["--cpu-offload-gb", "0"]],
    [["--kv-transfer-config", '{"kv_connector":"NixlConnector","kv_role":"kv_both"}']],
    [
      [
        "--kv-transfer-config.kv_connector",
        "NixlConnector",
        "--kv-transfer-config.kv_role",
        "kv_both",
      ],
    ],
    [["--kv-transfer-config", '{"kv_connector":"NixlConnector","kv_buffer_device":"Cuda"}']],
    [["--ec-transfer-config", '{"ec_connector":"ECExampleConnector","ec_role":"ec_both"}']],
    [["--mm-processor-cache-gb", "0", "--api-server-count", "8"]],
    [["--api-server-count", "1"]],
    [["--max-cpu-loras", "1"]],
    [["--max-cpu-loras", "4", "--max-loras=4"]],
  ])("is none in %j", (words) => {
    expect(read(...words)).toEqual({ known: true, byDefault: true, memory: { utilization: 0.92 } });
  });

  it("counts in the ledger and in the aggregate", () => {
    const planned = plan(stack({}, { extraArgs: ["--cpu-offload-gb", "20"] }), {
      home: "/home/me",
    });
    expect(planned.machines[0]?.ledger.lines).toContainEqual({
      name: "vllm-model-8001",
      gib: 74.73,
      basis: "setting",
      source: "gpuMemoryUtilization 0.45 of 121.63 GiB + 20 GiB of buffers outside it",
    });
    const refused = judge(declaredResources(planned)).filter(
      ({ verdict }) => verdict === "refused",
    );
    expect(refused.map(({ name }) => name)).toEqual(["aggregate-utilization", "memory-sum"]);
    expect(refused[0]?.message).toContain("(0.45 and 20.00 GiB of buffers outside it)");
  });

  it("of processed images is counted once for each API server and each engine, in every spelling", () => {
    const flag = (...spellings: string[]) => fc.constantFrom(...spellings);
    const option = (spelling: fc.Arbitrary<string>, value: fc.Arbitrary<number>) =>
      fc.tuple(spelling, value, fc.boolean()).map(([name, given, joined]) => ({
        given,
        words: joined ? [`${name}=${given}`] : [name, String(given)],
      }));
    fc.assert(
      fc.property(
        option(
          flag("--mm-processor-cache-gb", "--mm_processor_cache_gb", "--mm-processor-cache-g"),
          fc.integer({ max: 64, min: 1 }),
        ),
        option(
          flag("--api-server-count", "--api_server_count", "-asc", "--api-s", "-as"),
          fc.integer({ max: 32, min: 1 }),
        ),
        option(
          flag("--data-parallel-size", "--data_parallel-size", "-dp"),
          fc.integer({ max: 8, min: 1 }),
        ),
        (cache, servers, engines) => {
          const demand = read(...cache.words, ...servers.words, ...engines.words);
          expect(demand).toMatchObject({
            memory: { hostGiB: cache.given * (servers.given + engines.given) },
          });
        },
      ),
    );
  });

  it("of images is a note and no line where nothing is stated, and its advice passes", () => {
    const model = {
      config: { architectures: ["Qwen3VLForConditionalGeneration"] },
      source: "config.json",
    };
    const planned = (server: Record<string, unknown>, architectures = model.config.architectures) =>
      plan(stack({}, server), {
        home: "/home/me",
        models: { "org/model": { ...model, config: { architectures } } },
      });
    const noted = (...given: Parameters<typeof planned>) =>
      planned(...given).warnings.filter(({ code }) => code === "image-cache");
    expect(noted({})).toEqual([
      {
        machine: "dgx",
        code: "image-cache",
        note: true,
        message:
          'b: images that clients send may take 8 GiB beside its share. Each of two vLLM processes keeps up to 4 GiB of processed images. The plan doesn\'t count them, since text requests never fill that cache. `extraArgs: [--mm-processor-cache-gb, "0"]` turns it off; any other size given there is counted.',
      },
    ]);
    const none = { extraArgs: ["--mm-processor-cache-gb", "0"] };
    expect([
      noted(none),
      noted({}, ["Qwen3ForCausalLM"]),
      noted({ extraArgs: ["--language-model-only"] }),
    ]).toEqual([[], [], []]);
    const refusals = (server: Record<string, unknown>) =>
      judge(declaredResources(planned(server))).filter(({ verdict }) => verdict === "refused");
    expect([refusals({}), refusals(none)]).toEqual([[], []]);
    const sum = (server: Record<string, unknown>) =>
      planned(server).machines[0]?.ledger.sumGiB ?? 0;
    expect(sum({ extraArgs: ["--mm-processor-cache-gb", "3"] }) - sum({})).toBeCloseTo(6, 6);
  });
});

describe("GPUs that a server needs", () => {
  const needs = (...words: string[]) => gpusNeeded(readServerArguments(["m", ...words]));
  it.each<[string, number]>([
    ["", 1],
    ["-tp 2", 2],
    ["-t 2", 2],
    ["-tp=2 -pp 2", 4],
    ["--tensor_parallel_size=2", 2],
    ["--tensor-par 3", 3],
    ["-dp 4", 4],
    ["--data-parallel-size=4 -tp 2", 8],
    ["-dp 4 -dpl 1", 1],
    ["-dp 4 --data-parallel-size-local=2", 2],
    ["-dp 4 --data-parallel-rank 1", 1],
    ["-dp 4 --data-parallel-external-lb -tp 2", 2],
    ["-pcp 2", 2],
    ["--nnodes 2 -tp 2", 1],
    ["-n2 -tp 2", 1],
    ["--nnodes 2 -tp 2 -dp 2", 2],
    ["-tp 1 -tp 2", 2],
  ])("`%s`: %s", (words, gpus) => expect(needs(...words.split(" ").filter(Boolean))).toBe(gpus));

  it.each(["-tp x", "--data-parallel-size -1", "-dp", "--nnodes two", "-dpl x"])(
    "are not known of `%s`",
    (words) =>
      expect(needs(...words.split(" "))).toMatch(
        /^the value of `--[a-z-]+` can't be read as a number$/,
      ),
  );

  it("are no more than its machine has", () => {
    // The machine and its container are judged each.
    const refused = (machine: Record<string, unknown>, ...extraArgs: string[]) => {
      const judged = judge(
        declaredResources(plan(stack(machine, { extraArgs }), { home: "/home/me" })),
      );
      return [
        ...new Set(
          judged.flatMap(({ verdict, message }) => (verdict === "refused" ? [message] : [])),
        ),
      ];
    };
    const message = (needed: number, gpus: number) =>
      `The memory share of b can't be judged: its processes need ${needed} GPUs, one each, but the machine has ${gpus} (\`gpus\`). Lower \`--tensor-parallel-size\` and \`--pipeline-parallel-size\`, or remove \`--data-parallel-size\`: each process takes the whole share on its own GPU.`;
    expect(refused({}, "-dp", "2")).toEqual([message(2, 1)]);
    expect(refused({}, "--data-parallel-size=2", "-dpl", "1")).toEqual([]);
    expect(refused({ gpus: 2 }, "-dp", "2")).toEqual([]);
    expect(refused({ gpus: 2 }, "--data_parallel_size", "3")).toEqual([message(3, 2)]);
  });
});
