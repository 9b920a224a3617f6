import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Failed } from "@local-serving/base/commandLine/exit";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { chooseModel } from "../../../cli/models/ownModel";
import { changeModel, seatOf } from "../../../cli/models/useModel";
import { type OneMachine, readOneMachine } from "../../../cli/stack/readStack";
import * as catalogue from "../../../components/catalogue/readCatalogue";
import { httpServer } from "../../layers/httpServer";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { MODEL, StandInHub } from "../fetch/standInHub";

/** A machine with one server, in a folder of its own. */
const project = temporaryFolder("own-");
const file = join(project, "Pulumi.dgx.yaml");
const ALONE = readFileSync("Pulumi.dgx.yaml", "utf8").replace(
  /instanceA:\n(?: {8}.*\n)+/,
  `instanceA: none\n      modelCache: ${join(project, "cache")}\n`,
);
/** No coding client, which would want a long window and tool calls. */
const NO_AGENTS = ALONE.replace(/claudeCode:\n(?: {10}.*\n)+ {8}codex: \{\}\n/, "");

/** No recipe answers, and none has to be read again and again. */
beforeAll(() => void vi.spyOn(catalogue, "readCatalogue").mockReturnValue([]));
afterAll(() => void vi.mocked(catalogue.readCatalogue).mockRestore());

const stacks = new Map<string, OneMachine>();

function stackOf(text: string): OneMachine {
  writeFileSync(file, text);
  const stack = stacks.get(text) ?? readOneMachine(file);
  stacks.set(text, stack);
  return stack;
}

/** What a chat template writes for a call, as it stands in vLLM's examples. */
const FORMS = {
  hermes: '<tool_call>\\n{\\"name\\": <function-name>',
  tags: "<tool_call>\\n<function=example_function_name>",
  glm: "<tool_call>function_name\n<arg_key>",
  minimax: '<minimax:tool_call><invoke name="',
  llama: '{"name": function name, "parameters": dictionary of argument name and its value}',
  mistral: '"[TOOL_CALLS] ["',
  deepseek: "<｜tool▁calls▁begin｜>function\\n```json",
  seed: "<seed:tool_call><function=",
  lfm: "<|tool_call_start|>[",
  plain: "<|im_start|>",
  vectors: undefined,
  none: undefined,
} as const;

interface Given {
  readonly config: string;
  readonly gb: number;
  readonly form: keyof typeof FORMS;
  readonly text?: string;
  readonly server?: string;
}

/** Reads a model from a hub that has it, and plans it in the machine's server. */
async function used(given: Given) {
  try {
    const { fit } = await change(given);
    const { recipe } = fit;
    const value = (path: string) => fit.values.find((each) => each.path.join(".") === path)?.value;
    return [
      ...[recipe.family, recipe.kind, value("gpuMemoryUtilization"), value("maxModelLen")],
      ...[value("tools.parser") ?? "of the family", `${fit.verdict}: ${fit.evidence}`],
      ...(fit.image === undefined ? [] : [`${fit.image}, from ${recipe.minimumVllm}`]),
    ];
  } catch (error) {
    if (error instanceof Failed) return error.message.replaceAll(project, "FOLDER");
    throw error;
  }
}

/** The change of the stack file for a model that a hub has. */
async function change({ config, gb, form, text = NO_AGENTS, server }: Given) {
  const index = { metadata: { total_size: gb * 1e9 }, weight_map: { a: "model.safetensors" } };
  const words = FORMS[form];
  const files = {
    "config.json": config,
    "model.safetensors.index.json": JSON.stringify(index),
    ...(words !== undefined && { "chat_template.jinja": `{% for message in messages %}${words}` }),
    ...(form === "vectors" && { "modules.json": "[]" }),
  };
  const hub = new StandInHub(1000, files);
  const { url } = await httpServer((request, response) => void hub.answer(request, response));
  vi.stubEnv("HF_ENDPOINT", url);
  try {
    const stack = stackOf(text);
    const chosen = await chooseModel(stack, seatOf(stack, project, server), MODEL);
    if (chosen.lacks !== undefined) throw new Failed(chosen.lacks.join(" "));
    return changeModel(stack, chosen.seat, chosen.recipe);
  } finally {
    vi.unstubAllEnvs();
  }
}

type Row = readonly [name: string, gb: number, form: Given["form"], expected: unknown];

/** Configs that the catalogue has, as if it had no recipe. Sizes of weights are a recipe's, where there is one. */
const REAL: readonly Row[] = [
  [
    "Qwen--Qwen3-30B-A3B-FP8",
    31,
    "hermes",
    ["other", "chat", 0.61, 40960, "hermes", "yes: computed; not measured yet"],
  ],
  [
    "Qwen--Qwen3-32B-FP8",
    33,
    "hermes",
    ["other", "chat", 0.8, 40960, "hermes", "yes: computed; not measured yet"],
  ],
  [
    "Qwen--Qwen3-VL-8B-Instruct",
    17.5,
    "hermes",
    ["other", "chat", 0.8, 262144, "hermes", "yes: computed; not measured yet"],
  ],
  [
    "Qwen--Qwen3.5-122B-A10B",
    250,
    "tags",
    "org/model does not fit on this machine. It needs a share of at least 2.00, and 0.90 is left: 133.8 GiB too little. Instead take a smaller model (`serving models` lists what fits).",
  ],
  [
    "Qwen--Qwen3.5-397B-A17B",
    807,
    "tags",
    "org/model does not fit on this machine. It needs a share of at least 6.27, and 0.90 is left: 653.2 GiB too little. Instead take a smaller model (`serving models` lists what fits).",
  ],
  [
    "nvidia--DeepSeek-V4-Flash-NVFP4",
    170,
    "none",
    "org/model does not fit on this machine. It needs a share of at least 1.39, and 0.90 is left: 59.6 GiB too little. Instead take a smaller model (`serving models` lists what fits).",
  ],
  [
    "nvidia--Gemma-4-26B-A4B-NVFP4",
    16,
    "plain",
    ["gemma-4", "chat", 0.51, 262144, "of the family", "yes: computed; not measured yet"],
  ],
  [
    "nvidia--Gemma-4-31B-IT-NVFP4",
    19,
    "plain",
    ["gemma-4", "chat", 0.8, 262144, "of the family", "yes: computed; not measured yet"],
  ],
  [
    "nvidia--MiniMax-M2.7-NVFP4",
    138,
    "minimax",
    "org/model does not fit on this machine. It needs a share of at least 1.28, and 0.90 is left: 46.2 GiB too little. Instead take a smaller model (`serving models` lists what fits).",
  ],
  [
    "nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4",
    18,
    "tags",
    ["nemotron-3", "chat", 0.44, 262144, "of the family", "yes: computed; not measured yet"],
  ],
  [
    "nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4",
    75,
    "tags",
    [
      "nemotron-3",
      "chat",
      0.8,
      262144,
      "of the family",
      "perhaps: computed at best; not measured yet",
    ],
  ],
  [
    "nvidia--NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4",
    18,
    "tags",
    ["nemotron-3", "chat", 0.44, 262144, "of the family", "yes: computed; not measured yet"],
  ],
  [
    "nvidia--Qwen3-235B-A22B-NVFP4",
    134,
    "hermes",
    "org/model does not fit on this machine. It needs a share of at least 1.12, and 0.90 is left: 26.8 GiB too little. Instead take a smaller model (`serving models` lists what fits).",
  ],
  [
    "nvidia--Qwen3.5-122B-A10B-NVFP4",
    78,
    "tags",
    ["qwen3", "chat", 0.8, 262144, "of the family", "perhaps: computed at best; not measured yet"],
  ],
  [
    "nvidia--Qwen3.6-27B-NVFP4",
    27,
    "tags",
    ["qwen3", "chat", 0.73, 262144, "of the family", "yes: computed; not measured yet"],
  ],
  [
    "nvidia--Qwen3.6-35B-A3B-NVFP4",
    22,
    "tags",
    ["qwen3", "chat", 0.59, 262144, "of the family", "yes: computed; not measured yet"],
  ],
  [
    "openai--gpt-oss-120b",
    61,
    "plain",
    ["gpt-oss", "chat", 0.8, 131072, "of the family", "yes: computed; not measured yet"],
  ],
  [
    "openai--gpt-oss-20b",
    16,
    "plain",
    ["gpt-oss", "chat", 0.48, 131072, "of the family", "yes: computed; not measured yet"],
  ],
  [
    "stepfun-ai--Step-3.7-Flash-FP8",
    198,
    "tags",
    "org/model is of the class Step3p7FlashForCausalLM, which vLLM 0.30.0 lacks; no version up to 0.33.0 is known to have it.",
  ],
  [
    "zai-org--GLM-5.2-FP8",
    750,
    "glm",
    "org/model does not fit on this machine. It needs a share of at least 5.88, and 0.90 is left: 605.7 GiB too little. Instead take a smaller model (`serving models` lists what fits).",
  ],
];

/**
 * Configs with the defaults of classes of transformers; each names its class and the version. Sizes of
 * weights are made up.
 */
const MADE: readonly Row[] = [
  [
    "LlamaForCausalLM",
    16.1,
    "llama",
    ["other", "chat", 0.8, 131072, "llama3_json", "yes: computed; not measured yet"],
  ],
  [
    "MistralForCausalLM",
    24.5,
    "mistral",
    ["other", "chat", 0.8, 131072, "mistral", "yes: computed; not measured yet"],
  ],
  [
    "Qwen2ForCausalLM",
    15.2,
    "hermes",
    ["other", "chat", 0.43, 32768, "hermes", "yes: computed; not measured yet"],
  ],
  [
    "Qwen3ForCausalLM",
    16.4,
    "hermes",
    ["other", "chat", 0.56, 40960, "hermes", "yes: computed; not measured yet"],
  ],
  [
    "Phi3ForCausalLM",
    7.6,
    "hermes",
    ["other", "chat", 0.8, 131072, "hermes", "yes: computed; not measured yet"],
  ],
  [
    "GraniteForCausalLM",
    16.3,
    "hermes",
    ["other", "chat", 0.8, 131072, "granite4", "yes: computed; not measured yet"],
  ],
  [
    "Olmo3ForCausalLM",
    14.6,
    "hermes",
    ["other", "chat", 0.49, 65536, "hermes", "yes: computed; not measured yet"],
  ],
  [
    "SmolLM3ForCausalLM",
    6.2,
    "hermes",
    ["other", "chat", 0.37, 32768, "hermes", "yes: computed; not measured yet"],
  ],
  [
    "Gemma3ForCausalLM",
    8.6,
    "hermes",
    ["other", "chat", 0.48, 131072, "hermes", "yes: computed; not measured yet"],
  ],
  [
    "MixtralForCausalLM",
    93.4,
    "mistral",
    ["other", "chat", 0.8, 65536, "mistral", "perhaps: computed at best; not measured yet"],
  ],
  [
    "Gemma2ForCausalLM",
    18.5,
    "hermes",
    ["other", "chat", 0.42, 8192, "hermes", "yes: computed; not measured yet"],
  ],
  [
    "Cohere2ForCausalLM",
    16.1,
    "hermes",
    ["other", "chat", 0.7, 8192, "hermes", "yes: computed; not measured yet"],
  ],
  [
    "Glm4MoeForCausalLM",
    60,
    "glm",
    ["other", "chat", 0.8, 131072, "glm45", "perhaps: its KV cache can't be computed"],
  ],
  [
    "SeedOssForCausalLM",
    18,
    "seed",
    ["other", "chat", 0.8, 262144, "seed_oss", "perhaps: computed at best; not measured yet"],
  ],
  [
    "Lfm2ForCausalLM",
    2.3,
    "lfm",
    ["other", "chat", 0.8, 128000, "lfm2", "perhaps: its KV cache can't be computed"],
  ],
  [
    "GraniteMoeHybridForCausalLM",
    14,
    "hermes",
    ["other", "chat", 0.8, 2048, "granite4", "perhaps: its KV cache can't be computed"],
  ],
  [
    "DeepseekV3ForCausalLM",
    689,
    "deepseek",
    "org/model does not fit on this machine. It needs a share of at least 5.31, and 0.90 is left: 536.4 GiB too little. Instead take a smaller model (`serving models` lists what fits).",
  ],
  [
    "BertModel",
    0.44,
    "vectors",
    ["other", "embedding", 0.25, 512, "of the family", "yes: computed; not measured yet"],
  ],
  [
    "BambaForCausalLM",
    19.6,
    "hermes",
    "org/model is of the class BambaForCausalLM, which vLLM 0.30.0 lacks; 0.23.0 is the last that is known to have it: choose another model.",
  ],
  [
    "FlintForCausalLM",
    60,
    "hermes",
    [
      ...["other", "chat", 0.8, 262144, "hermes", "yes: computed; not measured yet"],
      "vllm/vllm-openai:TAG, from 0.33.0",
    ],
  ],
  [
    "EmbeddingGemma2Model",
    1.2,
    "vectors",
    [
      ...["other", "embedding", 0.45, 32768, "of the family"],
      ...["perhaps: its KV cache can't be computed", "vllm/vllm-openai:TAG, from 0.32.0"],
    ],
  ],
];

const kept = (folder: string) => readFileSync(join("models", folder, "config.json"), "utf8");
const made = (name: string) => readFileSync(`test/fixtures/hub-configs/${name}.json`, "utf8");

it.each(REAL)("%s (%d GB), without a recipe", async (name, gb, form, expected) => {
  expect(await used({ config: kept(name), gb, form })).toEqual(expected);
});

it.each(MADE)("%s (%d GB), made from its class", async (name, gb, form, expected) => {
  expect(await used({ config: made(name), gb, form })).toEqual(expected);
});

const LLAMA = { config: made("LlamaForCausalLM"), gb: 16.1 } as const;

it("is refused beside clients that its window is too short for, and goes beside them", async () => {
  const given = {
    config: made("Gemma2ForCausalLM"),
    gb: 18.5,
    form: "hermes",
    text: ALONE,
  } as const;
  expect(await used(given)).toBe(
    "org/model conflicts with the rest of FOLDER/Pulumi.dgx.yaml. machines.dgx.clients.claudeCode.maxOutputTokens: The server's window is 8192 tokens, prompt and output together: every request would be refused. Change that first, or keep the present model and give this one a server of its own: `--server NAME`.",
  );
  expect(await used({ ...given, server: "small" })).toEqual([
    ...["other", "chat", 0.42, 8192, "hermes", "yes: computed; not measured yet"],
  ]);
});

it("has no tool parser that nothing names, and takes the one that was written for it", async () => {
  const refused = await used({ ...LLAMA, form: "plain" });
  expect(refused).toBe(
    "org/model: its chat template has no known form of tool calls, so no parser is known for them: without one it only chats. Write `model.id: org/model` and the parser named on its page, as `tools.parser`, into b yourself, or `tools.autoChoice: false` for a chat without tools, then run this again.",
  );
  const its = (tools: string) =>
    NO_AGENTS.replace(/id: nvidia\/\S+/, `id: ${MODEL}`).replace(
      /tools:\n(?: {12}.*\n)+/,
      `tools: ${tools}\n`,
    );
  const named = its("{ parser: pythonic }");
  const fits = (tool: string) => [
    ...["other", "chat", 0.8, 131_072, tool, "yes: computed; not measured yet"],
  ];
  expect(await used({ ...LLAMA, form: "plain", text: named })).toEqual(fits("pythonic"));
  expect(await used({ ...LLAMA, form: "llama", text: named })).toEqual(fits("pythonic"));
  const without = its("{ autoChoice: false }");
  expect(await used({ ...LLAMA, form: "plain", text: without })).toEqual(fits("of the family"));
});

it("changes a file that init wrote with the reasons in it, and nothing the second time", async () => {
  const given = { ...LLAMA, form: "hermes", gb: 16.1 } as const;
  const text = NO_AGENTS.replace(
    "          gpuMemoryUtilization:",
    "          # alone on the machine, published: somebody's\n          # recipe (2026-11-22)\n          gpuMemoryUtilization:",
  ).replace("          image:", "          # Mine stays.\n          image:");
  const { after } = await change({ ...given, text });
  const block = after.slice(after.indexOf("        b:\n"), after.indexOf("      bridge:"));
  const own = "computed from its own files in the hub; not measured yet";
  const reason = `# judged: ${own} (${new Date().toISOString().slice(0, 10)})`;
  const lines = block.split("\n").map((line) => line.trim());
  const above = (key: string) => lines[lines.findIndex((line) => line.startsWith(key)) - 1];
  expect([above("model:"), above("image:"), above("maxModelLen:")]).toEqual([
    `# ${own}: model.weightsGB 16.1`,
    "# Mine stays.",
    reason.replace("#", "# 131072:"),
  ]);
  expect(above("gpuMemoryUtilization:")).toBe(reason.replace("#", "# 0.8: alone on the machine,"));
  expect(after).not.toContain("somebody's");
  const again = await change({ ...given, text: after });
  expect([again.after, again.diff]).toEqual([after, ""]);
});
