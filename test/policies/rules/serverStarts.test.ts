import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { plan } from "../../../components/plan/plan";
import { TYPE } from "../../../components/planned/type";
import { declaredResources } from "../../../components/program/machine/declaredResources";
import { judge } from "../../../policies/judge";
import { serverInput, stack } from "../../fixtures/machine";
import { declared, IMAGE, serving, UNKNOWN_TEXT, verdictsOf } from "../declared";

interface Server {
  readonly id?: string;
  readonly weightsGB?: number;
  readonly residentGiB?: number;
  readonly config?: object;
  readonly settings?: Record<string, unknown>;
  readonly machine?: Record<string, unknown>;
}

/** What the rules say of one server, with the model's config from the repository. */
function verdicts({
  id = "nvidia/Qwen3.6-35B-A3B-NVFP4",
  config,
  machine,
  settings,
  ...model
}: Server) {
  const file = `models/${id.replace("/", "--")}/config.json`;
  const known = existsSync(file)
    ? { ...JSON.parse(readFileSync(file, "utf8")), ...config }
    : config;
  const planned = plan(
    stack({ instanceA: "none", ...machine }, { model: { id, ...model }, ...settings }),
    {
      home: "/home/me",
      models: known === undefined ? {} : { [id]: { source: file, config: known } },
    },
  );
  return judge(declaredResources(planned));
}

const said = (server: Server) =>
  verdicts(server)
    .filter(({ name }) => name === "server-starts")
    .map(({ verdict, message }) => `${verdict}: ${message.replace(/ In the stack file: .*/, "")}`);

const A = (gpuMemoryUtilization: number) => ({ instanceA: { gpuMemoryUtilization } });

const FLOAT32 = { model_type: "olmo2", torch_dtype: "float32" };

const mtp = (drafts: number) => ({ speculative: { method: "mtp", numSpeculativeTokens: drafts } });

/**
 * Starts that people published of one machine: model, GB on disk, share, window, and what else
 * counts.
 */
const PUBLISHED: readonly [
  id: string,
  gb: number | undefined,
  share: number,
  window: number,
  more?: object,
][] = [
  // The record of a DGX Spark with three drafts, and NVIDIA's own recipe at 0.4.
  ["nvidia/Qwen3.6-35B-A3B-NVFP4", 22, 0.6, 262144, mtp(3)],
  ["nvidia/Qwen3.6-35B-A3B-NVFP4", 22, 0.4, 262144],
  // Recipes, in their order.
  ["nvidia/Qwen3.6-35B-A3B-NVFP4", 22, 0.5, 262144, { maxNumSeqs: 8, ...mtp(3) }],
  ["nvidia/Qwen3.6-35B-A3B-NVFP4", 22, 0.35, 32768, { kvCacheMemoryBytes: 8 * 1024 ** 3 }],
  ["Qwen/Qwen3.6-35B-A3B-FP8", 35, 0.8, 262144, { maxNumBatchedTokens: 32768 }],
  [
    "nvidia/Qwen3.8-27B-NVFP4",
    26.4,
    0.7,
    262144,
    {
      speculative: {
        method: "dflash",
        model: "z-lab/Qwen3.8-27B-DFlash2",
        numSpeculativeTokens: 8,
      },
    },
  ],
  ["nvidia/Qwen3.8-27B-NVFP4", 26.4, 0.5, 262144],
  ["nvidia/Qwen3.6-27B-NVFP4", 27, 0.5, 262144, mtp(3)],
  [
    "local-inference-lab/Qwen3.8-Flash-Next-NVFP4",
    132.7,
    0.8,
    262144,
    { environment: { VLLM_PLE_TABLE_MEMORY: "disk" } },
  ],
  ["openai/gpt-oss-120b", 61, 0.7, 131072, { kvCacheDtype: "auto" }],
  ["openai/gpt-oss-120b", 61, 0.58, 131072],
  ["openai/gpt-oss-20b", 16, 0.3, 131072, { kvCacheDtype: "auto" }],
  ["nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4", 75, 0.8, 262144, mtp(1)],
  ["nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4", 75, 0.72, 131072],
  [
    "nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4",
    18,
    0.7,
    1048576,
    { environment: { VLLM_ALLOW_LONG_MAX_MODEL_LEN: "1" } },
  ],
  ["nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4", 18, 0.35, 1048576],
  ["nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4", undefined, 0.3, 262144],
  ["nvidia/Gemma-4-26B-A4B-NVFP4", 16, 0.35, 262144],
  ["nvidia/Gemma-4-26B-A4B-NVFP4", 32, 0.8, 131072],
  ["nvidia/Gemma-4-31B-IT-NVFP4", 19, 0.7, 262144],
  ["saricles/Qwen3-Coder-Next-NVFP4-GB10", undefined, 0.55, 262144],
  ["Intel/Qwen3.5-122B-A10B-int4-AutoRound", 67, 0.7, 262144],
  ["nvidia/Qwen3.5-122B-A10B-NVFP4", 78, 0.85, 262144, mtp(2)],
  ["mistralai/Mistral-Small-4-119B-2603-NVFP4", 72, 0.8, 262144],
  ["cyankiwi/GLM-4.7-Flash-AWQ-4bit", undefined, 0.35, 202752, { maxNumSeqs: 64 }],
  ["Inferact/Muse-Glimmer-30B-NVFP4-W4A4", 30.5, 0.9, 131072],
  ["nvidia/Llama-3.3-70B-NVFP4", 40, 0.8, 131072],
];

describe("server-starts", () => {
  it.each(PUBLISHED)(
    "passes what started: %s of %s GB at %d with %d tokens",
    (id, gb, share, window, more) => {
      const model = gb === undefined ? {} : { weightsGB: gb };
      const settings = {
        gpuMemoryUtilization: share,
        maxModelLen: window,
        maxNumBatchedTokens: 8192,
        ...more,
      };
      expect(said({ id, ...model, settings }).filter((each) => each.startsWith("refused"))).toEqual(
        [],
      );
    },
  );

  it.each<[string, Server, string]>([
    [
      "weights above the share",
      {
        weightsGB: 61,
        id: "openai/gpt-oss-120b",
        settings: { maxModelLen: 131072, gpuMemoryUtilization: 0.45 },
      },
      "its weights take 56.81 GiB, and its share is 54.73. Set `gpuMemoryUtilization: 0.74`.",
    ],
    [
      "weights above the share, and nothing larger fits",
      {
        weightsGB: 61,
        id: "openai/gpt-oss-120b",
        machine: A(0.45),
        settings: { maxModelLen: 131072, gpuMemoryUtilization: 0.42 },
      },
      "its weights take 56.81 GiB, and its share is 51.08. It needs at least 0.52 to start, and 0.74 to be sure of it, but at most 0.45 is left for it on this machine: lower another server, or serve a smaller model (`serving models` lists what fits).",
    ],
    [
      "a window above the best room",
      { weightsGB: 22, settings: { gpuMemoryUtilization: 0.18 } },
      "its window needs 2.64 GiB of KV cache, at most 1.40 is left. Set `gpuMemoryUtilization: 0.44`. That is one request of 262,144 tokens. Its share of 0.18 is 21.89 of 121.63 GiB.",
    ],
    [
      "a window above fixed bytes",
      { weightsGB: 22, settings: { gpuMemoryUtilization: 0.35, kvCacheMemoryBytes: 1024 ** 3 } },
      "its window needs 2.64 GiB of KV cache, it has 1.00. Set `kvCacheMemoryBytes: 2940495463` or more. A `maxModelLen` of at most 90128 fits without that change. That is one request of 262,144 tokens.",
    ],
    [
      "a window above fixed bytes that can't be raised so far",
      {
        weightsGB: 22,
        settings: {
          gpuMemoryUtilization: 0.35,
          kvCacheMemoryBytes: 1024 ** 3,
          maxModelLen: 10_000_000,
          environment: { VLLM_ALLOW_LONG_MAX_MODEL_LEN: "1" },
        },
      },
      "its window needs 95.49 GiB of KV cache, it has 1.00. A `maxModelLen` of at most 90128 fits. That is one request of 10,000,000 tokens.",
    ],
    [
      "a window above the model's own",
      { weightsGB: 22, settings: { maxModelLen: 262145 } },
      "its window of 262145 is above the model's own, 262144. Set `maxModelLen: 262144` or less: vLLM refuses more. If the model's card stretches its window (YaRN), write that as `--hf-overrides` in `extraArgs`; `environment: { VLLM_ALLOW_LONG_MAX_MODEL_LEN: \"1\" }` lifts the check alone, and its config.json says nothing of longer prompts.",
    ],
  ])("refuses %s", (_, server, message) => {
    expect(said(server)).toEqual([`refused: b can't start: ${message}`]);
    // What it says to write is planned, and passes.
    const advised = message.matchAll(
      /(gpuMemoryUtilization|kvCacheMemoryBytes|maxModelLen)(?:: |` of at most )([\d.]+)/g,
    );
    for (const [, setting = "", value] of advised) {
      const settings = { ...server.settings, [setting]: Number(value) };
      expect(said({ ...server, settings }), setting).toEqual(["pass: "]);
    }
  });

  it("advises one window where the model's own is too long for fixed bytes as well", () => {
    const settings = {
      gpuMemoryUtilization: 0.02,
      kvCacheMemoryBytes: 1024 ** 3,
      maxModelLen: 1_048_576,
    };
    const found = verdicts({ weightsGB: 22, settings }).filter(
      ({ name }) => name === "server-starts",
    );
    expect(found.map(({ value }) => value)).toEqual([90128, 90128]);
  });

  it.each([0, -1, 4096.5, "8192"])("judges no window by a config's %j", (window) => {
    const config = { max_position_embeddings: window };
    expect(said({ weightsGB: 22, config })).toEqual(["pass: "]);
  });

  it.each<[string, Record<string, unknown>, string | undefined]>([
    [
      "fewer tokens than sequences",
      { maxNumBatchedTokens: 3, maxNumSeqs: 4 },
      "a batch of 3 tokens is less than 4 sequences. Set `maxNumSeqs: 3` or less, or a larger `maxNumBatchedTokens`: a batch has at least a token of each sequence.",
    ],
    ["as many tokens as sequences", { maxNumBatchedTokens: 4, maxNumSeqs: 4 }, undefined],
    [
      "no part of a prompt and less than a window",
      { chunkedPrefill: false, maxNumBatchedTokens: 8191, maxModelLen: 8192 },
      "a batch of 8191 tokens is less than its window, 8192. Set `chunkedPrefill: true`: without it a batch takes whole prompts.",
    ],
    [
      "no part of a prompt, but a whole window",
      { chunkedPrefill: false, maxNumBatchedTokens: 8192, maxModelLen: 8192 },
      undefined,
    ],
  ])("judges a batch of %s", (_, settings, message) => {
    const verdict = message === undefined ? "pass: " : `refused: b can't start: ${message}`;
    expect(said({ weightsGB: 22, settings })).toEqual([verdict]);
  });

  it("judges the batch also where nothing is known of the weights", () => {
    const settings = { maxNumBatchedTokens: 3, maxNumSeqs: 4 };
    expect(said({ id: "org/model", settings })).toContainEqual(
      expect.stringContaining("refused: b can't start: a batch of 3 tokens"),
    );
  });

  it.each<[string, Record<string, unknown>, string, number | undefined]>([
    ["weights above the share", { gpuMemoryUtilization: 0.1 }, "gpuMemoryUtilization", 0.44],
    ["a window above the best room", { gpuMemoryUtilization: 0.18 }, "gpuMemoryUtilization", 0.44],
    [
      "a window above fixed bytes",
      { gpuMemoryUtilization: 0.35, kvCacheMemoryBytes: 1024 ** 3 },
      "kvCacheMemoryBytes",
      2940495463,
    ],
    [
      "a window above fixed bytes, where the share is no larger",
      { gpuMemoryUtilization: 0.02, kvCacheMemoryBytes: 1024 ** 3 },
      "maxModelLen",
      90128,
    ],
    ["a window above the model's own", { maxModelLen: 262145 }, "maxModelLen", 262144],
  ])("names the setting that mends %s, and its value", (_, settings, setting, value) => {
    const [found] = verdicts({ weightsGB: 22, settings }).filter(
      ({ name }) => name === "server-starts",
    );
    expect([found?.path, found?.value]).toEqual([
      `machines.dgx.inferenceServers.b.${setting}`,
      value,
    ]);
  });

  it.each<[string, Server]>([
    [
      "loaded from disk in part",
      { weightsGB: 132, residentGiB: 60, settings: { gpuMemoryUtilization: 0.6 } },
    ],
    ["offloaded in part", { weightsGB: 61, settings: { extraArgs: ["--cpu-offload-gb", "20"] } }],
    [
      "with VLLM_ALLOW_LONG_MAX_MODEL_LEN",
      {
        weightsGB: 22,
        settings: { maxModelLen: 300000, environment: { VLLM_ALLOW_LONG_MAX_MODEL_LEN: "1" } },
      },
    ],
    [
      "with its positions scaled",
      {
        weightsGB: 22,
        settings: { maxModelLen: 300000, extraArgs: ["--hf-overrides", "{}"] },
        residentGiB: 20,
      },
    ],
    [
      "whose weights fit a larger share than its own, with fixed bytes for its cache",
      {
        weightsGB: 61,
        id: "openai/gpt-oss-120b",
        settings: {
          maxModelLen: 131072,
          gpuMemoryUtilization: 0.1,
          kvCacheMemoryBytes: 8 * 1024 ** 3,
        },
      },
    ],
    [
      "scaled by its config",
      {
        weightsGB: 22,
        config: {
          text_config: undefined,
          model_type: "llama",
          max_position_embeddings: 4096,
          rope_scaling: { factor: 64 },
        },
      },
    ],
  ])("passes a server %s", (_, server) => {
    expect(said(server)).toEqual(["pass: "]);
  });

  it("is applied all the same with a reason, but no longer than the model's own window", () => {
    const settings = { gpuMemoryUtilization: 0.1, startAnyway: "our wiki has the log" };
    expect(said({ weightsGB: 22, settings })).toEqual([
      `warned: b can't start: its weights take 20.49 GiB, and its share is 12.16. Set \`gpuMemoryUtilization: 0.44\`. It is applied all the same: \`startAnyway\` says "our wiki has the log".`,
    ]);
    expect(said({ weightsGB: 22, settings: { ...settings, maxModelLen: 300_000 } })).toEqual([
      expect.stringMatching(/^warned: /),
      expect.stringMatching(/^refused: .* its window of 300000 is above the model's own/),
    ]);
  });

  it("says of a fixed cache that weights beside it don't fit the machine", () => {
    const settings = { kvCacheMemoryBytes: 8 * 1024 ** 3 };
    expect(
      said({ weightsGB: 22, settings, machine: { totalGiB: 28, operatingSystemGiB: 1 } }),
    ).toEqual([
      "refused: b can't start: its memory is too small. Set a smaller `kvCacheMemoryBytes`, or serve a smaller model. Weights and cache are at least 31.39 GiB of 28.00 GiB.",
    ]);
  });

  it.each<[string, Server]>([
    [
      "they are quantized while they load",
      { weightsGB: 200, settings: { extraArgs: ["--quantization", "fp8"] } },
    ],
    ["they are float32, which is loaded as 16 bits", { weightsGB: 200, config: FLOAT32 }],
  ])("warns where %s", (_, server) => {
    expect(said({ id: "org/model", ...server })).toEqual([
      "warned: Whether b can start isn't judged. What its weights take once loaded is not known. Set `model.residentGiB`; `model.weightsGB` is enough without options such as `--hf-overrides` or `--quantization`.",
    ]);
  });

  it("weighs a checkpoint in the format that it is loaded in as it is", () => {
    const config = { quantization_config: { quant_method: "mxfp4" } };
    const of = (how: string, weightsGB: number) =>
      said({
        id: "org/model",
        weightsGB,
        config,
        settings: { extraArgs: ["--quantization", how] },
      });
    expect(of("gpt_oss_mxfp4", 20)).toEqual(["pass: "]);
    expect(of("mxfp4", 200)[0]).toMatch(
      /^refused: b can't start: its weights take 186\.26 GiB, and its share is 54\.73\./,
    );
    expect(of("fp8", 200)[0]).toMatch(/^warned: Whether b can start isn't judged/);
  });

  it("says of a model that nobody could weigh what to write", () => {
    expect(said({ id: "org/model" })).toEqual([
      "warned: Whether b can start isn't judged. Nobody could weigh org/model: write `model.weightsGB` (`serving fetch --check` asks the hub for the size).",
    ]);
  });

  it("weighs a model by its name where nothing else tells its size", () => {
    const id = "Qwen/Qwen3.5-397B-A17B-FP8";
    expect(said({ id })).toEqual([
      expect.stringMatching(
        /^refused: b doesn't fit: by its name its weights take 356\.79 of 121\.63 GiB\. Serve a smaller model .* That is 397B parameters of 8 bits, by its name: 383\.1 GB at least\. If the name misleads, write `model\.weightsGB`\.$/,
      ),
    ]);
    expect(said({ id: "org/M-70B-FP8", settings: { gpuMemoryUtilization: 0.45 } })).toEqual([
      expect.stringMatching(
        /^refused: \S+ can't start: its weights take at least 60\.63 GiB \(70B parameters of 8 bits, by its name\), and its share is 54\.73\..* If the name misleads, write `model\.weightsGB`\.$/,
      ),
    ]);
    expect(said({ id: "org/M-70B-FP8", settings: { gpuMemoryUtilization: 0.51 } })).toEqual([
      expect.stringMatching(
        /^warned: b may not start: its weights take at least 60\.63 of 62\.03 GiB, and vLLM 2\.90 beside them: no window is left \(70B /,
      ),
    ]);
    expect(said({ id: "org/M-70B-FP8", settings: { gpuMemoryUtilization: 0.8 } })).toEqual([
      "pass: ",
    ]);
    expect(said({ id, weightsGB: 20 })).toEqual(["pass: "]);
  });

  it("refuses a container of another program whose model is too large for any machine", () => {
    const container = (command: string[]) => verdictsOf("server-starts", [serving(...command)]);
    const id = "Qwen/Qwen3.5-397B-A17B-FP8";
    expect(container([id])).toMatchObject([
      {
        verdict: "refused",
        message: expect.stringContaining("by its name its weights take 356.79 of 122.8 GiB."),
      },
    ]);
    expect(container([id, "-tp", "4"])).toMatchObject([{ verdict: "pass" }]);
    expect(container(["org/model"])).toMatchObject([{ verdict: "pass" }]);
  });

  it("judges each server of a machine by its own figures", () => {
    const model = { id: "openai/gpt-oss-120b", weightsGB: 61 };
    const small = serverInput({
      gpuMemoryUtilization: 0.4,
      model: { id: "org/small", weightsGB: 8 },
    });
    const large = {
      gpuMemoryUtilization: 0.42,
      maxModelLen: 131072,
      model,
      port: 8002,
      servedModelName: "large",
    };
    const machine = { instanceA: "none", inferenceServers: { a: small, b: serverInput(large) } };
    const planned = plan(stack(machine), { home: "/home/me" });
    const found = judge(declaredResources(planned)).filter(({ name }) => name === "server-starts");
    expect(found.map(({ message }) => message.split(":")[0])).toEqual(["b can't start"]);
    // The setting to change is that server's.
    expect(found[0]?.message).toContain("machines.dgx.inferenceServers.b.gpuMemoryUtilization");
  });

  it("names no shorter window where not one token fits", () => {
    const [verdict] = said({ weightsGB: 22, settings: { gpuMemoryUtilization: 0.169 } });
    expect(verdict).toContain(
      "refused: b can't start: its window needs 2.64 GiB of KV cache, at most 0.07 is left. Set `gpuMemoryUtilization: 0.44`.",
    );
    expect(verdict).not.toContain("maxModelLen");
  });

  it("is not contradicted by what other rules advise", () => {
    const tight = { weightsGB: 22, machine: A(0.72), settings: { gpuMemoryUtilization: 0.3 } };
    const refused = verdicts(tight).filter(({ verdict }) => verdict === "refused");
    expect(refused.map(({ name }) => name)).toEqual(["aggregate-utilization", "memory-sum"]);
    expect(refused[0]?.message).toContain(
      "The servers of dgx claim 1.02 of its memory, and 0.90 is the limit. Instance A is not ours to lower: only its owner can, to 0.60 or less.",
    );
    expect(refused[1]?.message).toContain(
      "but it needs at least 0.22 to start, and 0.44 to be sure of it.",
    );
    expect(refused.map(({ message }) => message).join()).not.toContain("vllm-model-8001 to 0.18");
  });

  it("can be lowered to a warning", () => {
    const file = "models/nvidia--Qwen3.6-35B-A3B-NVFP4/config.json";
    const config = JSON.parse(readFileSync(file, "utf8"));
    const planned = plan(stack({}, { model: { id: "m", weightsGB: 100 } }), {
      home: "/",
      models: { m: { source: file, config } },
    });
    const levels = { "server-starts": "advisory" } as const;
    const verdict = judge(declaredResources(planned), levels).find(
      ({ name }) => name === "server-starts",
    );
    expect(verdict?.verdict).toBe("warned");
  });
});

/** The largest shares that fit: both where only `fits` is given. */
interface Limits {
  readonly fits?: number;
  readonly byAggregate?: number;
  readonly keepingFloor?: number;
}

describe("a machine component of one's own", () => {
  /** Verdict, message and setting for one server of 10 GiB's machine, with a share of half. */
  function judged(
    needs: object,
    { command = [] as string[], fits = 0.5, ...limits }: Limits & { command?: string[] } = {},
  ) {
    const servers = [
      {
        name: "b",
        key: "b",
        image: IMAGE,
        command: ["m", "--gpu-memory-utilization", "0.5", ...command],
      },
    ];
    const memory = {
      largestUtilization: { b: { bySum: fits, byAggregate: fits, ...limits } },
      starts: { b: needs },
    };
    const [found] = verdictsOf("server-starts", [
      declared(TYPE.machine, "dgx", { totalGiB: 10, servers, memory }),
    ]);
    const path = found?.path?.replace("machines.dgx.inferenceServers.b.", "");
    return [
      found?.verdict,
      found?.message.replace(/ In the stack file: .*/, ""),
      path,
      found?.value,
    ];
  }
  const PASS = ["pass", "", undefined, undefined];
  const SMALL = ["m", "--gpu-memory-utilization", "0.05"];

  it.each<[string, object, string[]]>([
    ["exactly its weights fit", { weightsGiB: 5, outsideGiB: 5 }, []],
    ["nothing is known but what lies outside its cache", { outsideGiB: 4.9 }, []],
    [
      "its arguments can't be read",
      { weightsGiB: 50, outsideGiB: 50 },
      ["--gpu-memory-utilization", "half"],
    ],
    [
      "its share can't be read, though its window is longer than the model's",
      { outsideGiB: 1, modelWindow: 8 },
      ["--gpu-memory-utilization", "half", "--max-model-len", "9"],
    ],
    [
      "its window is as long as the model's",
      { outsideGiB: 1, modelWindow: 8 },
      ["--max-model-len", "8"],
    ],
  ])("passes where %s", (_, needs, command) => {
    expect(judged(needs, { command })).toEqual(PASS);
  });

  it.each([
    ["is none", { name: "b", image: "nginx:1.27", command: ["x"] }, { outsideGiB: 50 }],
    [
      "has half a GiB, and nothing is known to need more",
      { name: "b", image: IMAGE, command: SMALL },
      { outsideGiB: 0 },
    ],
    [
      "is not planned",
      { name: "c", image: IMAGE, command: SMALL },
      { weightsGiB: 50, outsideGiB: 50 },
    ],
  ])("passes a server that %s", (_, server, needs) => {
    const memory = { largestUtilization: { b: {} }, starts: { b: needs } };
    const machine = declared(TYPE.machine, "dgx", { totalGiB: 10, servers: [server], memory });
    expect(verdictsOf("server-starts", [machine])).toMatchObject([{ verdict: "pass" }]);
  });

  it("takes a figure that is not known for a missing one", () => {
    expect(judged({ outsideGiB: UNKNOWN_TEXT })[1]).toMatch(/^Whether b can start isn't judged/);
    expect(judged({ outsideGiB: UNKNOWN_TEXT, atMost: true })[0]).toBe("pass");
  });

  it("passes a window that is not known", () => {
    const script = ["sh", "-c", 'vllm serve m --max-model-len "$WINDOW"'];
    const servers = [{ name: "b", image: IMAGE, entrypoints: script, command: [] }];
    const memory = {
      largestUtilization: { b: {} },
      starts: { b: { outsideGiB: 1, modelWindow: 8 } },
    };
    const machine = declared(TYPE.machine, "dgx", { totalGiB: 10, servers, memory });
    expect(verdictsOf("server-starts", [machine])).toMatchObject([{ verdict: "pass" }]);
  });

  it("names a share that suffices, and none where none is left", () => {
    const needs = { weightsGiB: 6, outsideGiB: 6 };
    const setting = "gpuMemoryUtilization";
    expect(judged({ ...needs, leastUtilization: 0.7 }, { fits: 0.7 })).toEqual([
      "refused",
      `b can't start: its weights take 6.00 GiB, and its share is 5.00. Set \`gpuMemoryUtilization: 0.7\`. The plan still warns of the sum of the shares.`,
      setting,
      0.7,
    ]);
    expect(judged(needs, { fits: 0.9 })).toEqual([
      "refused",
      `b can't start: its weights take 6.00 GiB, and its share is 5.00. It needs at least 1.00 to start, but at most 0.9 is left for it on this machine: lower another server, or serve a smaller model (\`serving models\` lists what fits).`,
      undefined,
      undefined,
    ]);
  });

  it.each([
    [0, ""],
    [undefined, ""],
    [512, " A `maxModelLen` of at most 512 fits without that change."],
  ])("says what room there is, and the longest window of %d tokens", (longestWindow, shorter) => {
    const needs = {
      weightsGiB: 5,
      outsideGiB: 6,
      windowGiB: 2,
      leastUtilization: 0.8,
      longestWindow,
    };
    expect(judged(needs, { command: ["--max-model-len", "8192"], fits: 0.9 })[1]).toBe(
      `b can't start: its window needs 2.00 GiB of KV cache, at most 0.00 is left. Set \`gpuMemoryUtilization: 0.8\`.${shorter} That is one request of 8,192 tokens. Its share of 0.50 is 5.00 of 10 GiB.`,
    );
  });

  it.each<[string, object, Limits, string, number]>([
    [
      "at most the largest that leaves the floor",
      { leastUtilization: 0.6 },
      { fits: 0.9, keepingFloor: 0.7 },
      "Set `gpuMemoryUtilization: 0.6`.",
      0.6,
    ],
    [
      "the least that is sure, though nothing above it fits",
      { leastUtilization: 0.6, sureUtilization: 0.7 },
      { fits: 0.9, keepingFloor: 0.7 },
      "Set `gpuMemoryUtilization: 0.7`.",
      0.7,
    ],
    [
      "the largest of all, where no share that leaves the floor suffices",
      { leastUtilization: 0.9 },
      { fits: 0.9, keepingFloor: 0.7 },
      "Set `gpuMemoryUtilization: 0.9`. That doesn't leave the memory floor (`memoryFloorGiB`), so the plan warns.",
      0.9,
    ],
  ])("is told of %s", (_, needs, limits, remedy, value) => {
    const [verdict, message, setting, given] = judged(
      { weightsGiB: 6, outsideGiB: 6, ...needs },
      limits,
    );
    expect([verdict, setting, given]).toEqual(["refused", "gpuMemoryUtilization", value]);
    expect(message).toBe(
      `b can't start: its weights take 6.00 GiB, and its share is 5.00. ${remedy}`,
    );
  });

  it.each<[string, object, Limits, string, string, number | undefined]>([
    [
      "the one that fills all that is left",
      { outsideGiB: 1, leastCacheBytes: 2 * 1024 ** 3 },
      { fits: 0.3, byAggregate: 0.9 },
      " Set `kvCacheMemoryBytes: 2147483648` or more.",
      "kvCacheMemoryBytes",
      2 * 1024 ** 3,
    ],
    [
      "none above what is left",
      { outsideGiB: 1, leastCacheBytes: 2 * 1024 ** 3 },
      { fits: 0.29, byAggregate: 0.9 },
      "",
      "kvCacheMemoryBytes",
      undefined,
    ],
    [
      "none as large as the share",
      { outsideGiB: 0, leastCacheBytes: 5 * 1024 ** 3 },
      { fits: 0.9 },
      "",
      "kvCacheMemoryBytes",
      undefined,
    ],
    [
      "a shorter window instead",
      { outsideGiB: 1, longestWindow: 512 },
      { fits: 0.9 },
      " A `maxModelLen` of at most 512 fits.",
      "maxModelLen",
      512,
    ],
  ])("is told of a larger cache: %s", (_, needs, limits, remedy, setting, value) => {
    const command = ["--max-model-len", "8192", "--kv-cache-memory-bytes", "1073741824"];
    const planned = { weightsGiB: 0, windowGiB: 2, ...needs };
    expect(judged(planned, { command, ...limits })).toEqual([
      "refused",
      `b can't start: its window needs 2.00 GiB of KV cache, it has 1.00.${remedy} That is one request of 8,192 tokens.`,
      value === undefined ? undefined : setting,
      value,
    ]);
  });

  it.each<[string, object, string[], string | undefined]>([
    [
      "as much as its share",
      { weightsGiB: 2.1, outsideGiB: 2.1 },
      [],
      "2.10 of 5.00 GiB, and vLLM 2.90",
    ],
    ["a little less than its share", { weightsGiB: 2.09, outsideGiB: 2.09 }, [], undefined],
    ["nothing that is known", { outsideGiB: 1 }, ["--gpu-memory-utilization", "0.3"], undefined],
    [
      "with a fixed cache more than its share",
      { weightsGiB: 1.5, outsideGiB: 1.5 },
      ["--kv-cache-memory-bytes", "1073741824"],
      "1.50 of 5.00 GiB, and vLLM 3.90",
    ],
  ])("whose weights are known by its name takes before any window %s", (...row) => {
    const [, needs, command, figures] = row;
    const words = `b may not start: its weights take at least ${figures} beside them: no window is left (by its name). `;
    const [verdict, message = ""] = judged({ ...needs, byName: "by its name" }, { command });
    expect([verdict, `${message}`.slice(0, words.length)]).toEqual(
      figures === undefined ? PASS.slice(0, 2) : ["warned", words],
    );
  });

  it.each<[string, object, string]>([
    [
      "as large as the machine, known by its name",
      { weightsGiB: 10, byName: "by its name" },
      "can't start: its weights take at least 10.00 GiB (by its name), and its share is 5.00.",
    ],
    [
      "larger than the machine, known by its name",
      { weightsGiB: 10.1, byName: "by its name" },
      "doesn't fit: by its name its weights take 10.10 of 10 GiB.",
    ],
    [
      "larger than the machine, known for certain",
      { weightsGiB: 11 },
      "can't start: its weights take 11.00 GiB, and its share is 5.00.",
    ],
  ])("is refused with weights %s", (_, needs, words) => {
    expect(judged({ ...needs, outsideGiB: 10 })).toEqual([
      "refused",
      expect.stringContaining(`b ${words}`),
      undefined,
      undefined,
    ]);
  });

  it("isn't judged where neither its model nor its size is known", () => {
    const server = { name: "b", image: IMAGE, command: [UNKNOWN_TEXT] };
    const memory = { largestUtilization: { b: {} }, starts: { b: { unweighed: true } } };
    const machine = declared(TYPE.machine, "dgx", { totalGiB: 10, servers: [server], memory });
    expect(verdictsOf("server-starts", [machine])).toMatchObject([
      {
        verdict: "warned",
        message:
          "Whether b can start isn't judged. Nobody could weigh its model: write `model.weightsGB`.",
      },
    ]);
  });

  it("is judged by its weights, though its adapters stay in the host's memory", () => {
    const command = ["--max-loras", "1", "--max-cpu-loras", "2"];
    const [verdict] = judged({ weightsGiB: 6, outsideGiB: 6 }, { command });
    expect(verdict).toBe("refused");
  });

  it("passes a batch of a server whose name isn't known", () => {
    const command = ["m", "--max-num-batched-tokens", "8", "--max-num-seqs", "9"];
    const refused = (name: unknown) =>
      verdictsOf("server-starts", [
        declared(TYPE.machine, "dgx", { totalGiB: 10, servers: [{ name, image: IMAGE, command }] }),
      ]).map(({ verdict }) => verdict);
    expect([refused("b"), refused(UNKNOWN_TEXT)]).toEqual([["refused"], ["pass"]]);
  });
});
