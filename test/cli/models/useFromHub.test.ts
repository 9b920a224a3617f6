import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { parse } from "yaml";
import { recipeByName } from "../../../cli/models/byName";
import * as catalogue from "../../../components/catalogue/readCatalogue";
import { plan } from "../../../components/plan/plan";
import { parseStackFile } from "../../../components/settings/load";
import { httpServer } from "../../layers/httpServer";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { COMMIT, type HubBehaviour, MODEL, StandInHub } from "../fetch/standInHub";
import { digestOf, standInRegistry } from "../pin/standInRegistry";
import { type Run, runServing } from "../runServing";
import { pullingDocker } from "./pullingDocker";

/** No recipe answers, and none has to be read again and again. */
beforeAll(() => void vi.spyOn(catalogue, "readCatalogue").mockReturnValue([]));
afterAll(() => void vi.mocked(catalogue.readCatalogue).mockRestore());

const ALONE = readFileSync("Pulumi.dgx.yaml", "utf8").replace(
  /instanceA:\n(?: {8}.*\n)+/,
  "instanceA: none\n",
);

const index = (gb: number) =>
  JSON.stringify({ metadata: { total_size: gb * 1e9 }, weight_map: { a: "model.safetensors" } });

interface Setting {
  readonly files?: Readonly<Record<string, string>>;
  readonly only?: boolean;
  readonly task?: string;
  readonly behaviour?: HubBehaviour;
  readonly args?: readonly string[];
  readonly text?: string;
  readonly env?: Record<string, string>;
  readonly id?: string;
}

/** `models use org/model` in a project of its own, from a hub that has that model. */
async function use({
  files,
  only,
  task,
  behaviour,
  args = [],
  text = ALONE,
  env,
  id = MODEL,
}: Setting) {
  const project = temporaryFolder("use-");
  writeFileSync(join(project, "Pulumi.yaml"), "name: local-serving\nruntime: nodejs\n");
  const file = join(project, "Pulumi.dgx.yaml");
  writeFileSync(file, text);
  mkdirSync(join(project, "home"));
  const hub = new StandInHub(1000, files, only);
  Object.assign(hub.behaviour, behaviour);
  hub.task = task ?? hub.task;
  const { url } = await httpServer((request, response) => void hub.answer(request, response));
  const here = vi.spyOn(process, "cwd").mockReturnValue(project);
  const run = (words: readonly string[]) =>
    runServing(words, { HF_ENDPOINT: url, HOME: join(project, "home"), ...env });
  try {
    const used = await run(["models", "use", id, ...args]);
    const planned: Run | undefined = args.includes("--write") ? await run(["plan"]) : undefined;
    const { dgx } = parse(readFileSync(file, "utf8")).config["local-serving:machines"];
    return { ...used, project, file, planned, dgx, hub };
  } finally {
    here.mockRestore();
  }
}

/** What the chat templates of most models have in common. */
const TEMPLATE = '{% for message in messages %}<tool_call>\\n{\\"name\\": {% endfor %}';

/** A model of a class, as the hub has it. */
const of = (config: string, gb: number, template = TEMPLATE): Setting => ({
  files: {
    ...{ "config.json": config, "model.safetensors.index.json": index(gb) },
    "chat_template.jinja": template,
  },
});

/** A class that vLLM 0.33 is the first to have. */
const LATER = "Step5ForCausalLM";

const kept = (folder: string) => readFileSync(join("models", folder, "config.json"), "utf8");
const made = (name: string) => readFileSync(`test/fixtures/hub-configs/${name}.json`, "utf8");

const LLAMA = of(made("LlamaForCausalLM"), 16.1);

describe("a model that no recipe tells of, from the hub", () => {
  it("is shown as a change with what it rests on, and nothing is written", async () => {
    const { code, err, out, project, file } = await use(LLAMA);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain(`+            id: ${MODEL}\n`);
    expect(out).toContain(`model.revision: "${COMMIT}"  the commit that was read`);
    expect(out).toContain("computed from its own files in the hub; not measured yet");
    expect(readFileSync(file, "utf8")).toBe(ALONE);
    expect(existsSync(join(project, "models"))).toBe(false);
  });

  it("is written with the commit that was read, and the next plan reads what was read", async () => {
    const { code, err, project, planned, dgx } = await use({ ...LLAMA, args: ["--write"] });
    expect([code, err]).toEqual([0, ""]);
    expect(dgx.inferenceServers.b.model).toEqual({
      ...{ id: MODEL, kind: "chat", thinking: false, weightsGB: 16.1, revision: COMMIT },
    });
    expect(readFileSync(join(project, "models/org--model/config.json"), "utf8")).toBe(
      made("LlamaForCausalLM"),
    );
    expect(dgx.inferenceServers.b.tools).toMatchObject({ parser: "hermes" });
    expect(dgx.inferenceServers.b).not.toHaveProperty("trustRemoteCode");
    expect([planned?.code, planned?.err]).toEqual([0, ""]);
    expect(planned?.out).toContain("\n  1 b       model, ");
  });

  it("comes with its token, and says what the hub or the network said against it", async () => {
    const text = ALONE.replace(
      "versions:",
      "huggingFaceTokenVariable: MY_TOKEN\n          versions:",
    );
    const token = "hf_GoodGoodGood1";
    const good = { text, behaviour: { token }, env: { MY_TOKEN: token } };
    expect((await use({ ...LLAMA, ...good })).code).toBe(0);
    const bad = await use({ ...LLAMA, ...good, env: { MY_TOKEN: "hf_BadBadBad1" } });
    expect([bad.code, bad.err.trim()]).toEqual([
      1,
      "The model org/model could not be fetched: the hub has no such model, or it is private (the token in MY_TOKEN is not accepted). Correct `model.id`, or set MY_TOKEN to a token that may read the model, then run the same command again.",
    ]);
    const gated = await use({ ...LLAMA, behaviour: { gated: true } });
    expect(gated.err).toContain(
      "the model is gated, and the hub refuses access. Ask for access at https://huggingface.co/org/model, and",
    );
    expect(gated.err).not.toContain("does not fit");
    const many = await use({ ...LLAMA, behaviour: { status: 429 } });
    expect(many.err).toContain(
      "the hub refuses further requests for now (rate limit). Wait some minutes",
    );
    const down = await use({ ...LLAMA, env: { HF_ENDPOINT: "http://127.0.0.1:9" } });
    expect([down.code, down.err]).toEqual([
      1,
      expect.stringContaining("the hub can't be reached. Check the network"),
    ]);
  });

  it("is refused with code of its own until that is allowed for this very model", async () => {
    const config = JSON.stringify({ ...JSON.parse(made("LlamaForCausalLM")), auto_map: {} });
    const refused = await use(of(config, 16.1));
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringContaining(
        "write `model.id: org/model` and `trustRemoteCode: true` into b yourself, then run this again.",
      ),
    ]);
    const text = ALONE.replace("id: nvidia/Qwen3.6-35B-A3B-NVFP4", `id: ${MODEL}`);
    const { code, dgx } = await use({ ...of(config, 16.1), text, args: ["--write"] });
    expect([code, dgx.inferenceServers.b.trustRemoteCode]).toEqual([0, true]);
  });
});

describe("what a model is, and whether it fits, comes before what it lacks", () => {
  const plain = "{% for message in messages %}{{ message }}{% endfor %}";

  it("refuses for its size a model that has neither a parser nor trusted code", async () => {
    const config = JSON.stringify({ ...JSON.parse(made("LlamaForCausalLM")), auto_map: {} });
    const { code, err } = await use(of(config, 245, plain));
    expect(code).toBe(1);
    expect(err).toMatch(/^org\/model does not fit on this machine\./);
    expect(err).not.toMatch(/template|code of its own/);
    const small = await use(of(config, 16.1, plain));
    expect(small.err).toMatch(
      /^org\/model: its chat template has no known form of tool calls, so no parser is known for them: without one it only chats\..* org\/model brings code of its own/,
    );
  });

  it("takes pytorch_model.bin for weights where there are no safetensors", async () => {
    const files = { "config.json": made("BertModel"), "modules.json": "[]" };
    const bin = { ...files, "pytorch_model.bin": "x".repeat(20_000_000) };
    const { code, out } = await use({ files: bin, only: true });
    expect(code).toBe(0);
    expect(out).toContain("model.weightsGB: 0.02  computed from its own files in the hub");
    const none = await use({ files, only: true });
    expect(none.err.trim()).toBe(
      "org/model has no weights that vLLM reads, neither safetensors nor pytorch_model.bin: choose a repository of the model that has them.",
    );
  });

  it("asks no reranker and no reward model for tools, by class and by name", async () => {
    const config = JSON.parse(made("LlamaForCausalLM"));
    const ranks = { ...config, architectures: ["JinaVLForRanking"] };
    const { code, out } = await use(of(JSON.stringify(ranks), 4.9, plain));
    expect(code).toBe(0);
    expect(out).toContain('model.kind: "rerank"');
    expect(out).not.toContain("tools.");
  });
});

it("recipes by the sizes of files say them, and never nothing", () => {
  const of = (weightsGB: number) => recipeByName({ id: "org/model", totalGiB: 121.69, weightsGB });
  expect(of(245.2)?.values).toEqual([
    {
      path: ["model", "weightsGB"],
      value: 245.2,
      why: "the sizes of its files, as the hub lists them",
    },
    { path: ["tools", "autoChoice"], value: false, why: expect.stringContaining("judged: ") },
  ]);
  expect(of(0.00012345)?.values[0]).toMatchObject({ value: 0.00012 });
  expect(recipeByName({ id: "org/model", totalGiB: 121.69 })).toBeUndefined();
});

describe("a model whose name alone is known", () => {
  const alone = (id: string, args: readonly string[] = []) =>
    use({ id, args, env: { HF_ENDPOINT: "http://127.0.0.1:9" } });

  it("gets the kind that its name says, and no window that it may not have", async () => {
    const { code, out, dgx, planned } = await alone("BAAI/bge-m3", ["--write"]);
    expect(code).toBe(0);
    expect(out).toContain("By its name it is for embeddings");
    expect(dgx.inferenceServers.embedding).toMatchObject({
      ...{ model: { id: "BAAI/bge-m3", kind: "embedding" }, maxModelLen: 512 },
    });
    expect(planned?.code).toBe(0);
  });

  it("is refused with what its name says, and nothing is written", async () => {
    const { code, err, dgx } = await alone("Qwen/Qwen3.5-397B-A17B-FP8", ["--write"]);
    expect(code).toBe(1);
    expect(err).toMatch(/GiB too little\..*the hub can't be reached.*rests on its name alone/);
    expect(dgx.inferenceServers.b.model.id).toBe("nvidia/Qwen3.6-35B-A3B-NVFP4");
  });

  it("is refused by a rule without any word of memory", async () => {
    const { code, err } = await alone("LiquidAI/LFM2-24B-A2B");
    expect(code).toBe(1);
    expect(err).toContain("LiquidAI/LFM2-24B-A2B is refused in this stack file. claude-code");
    expect(err).not.toMatch(/does not fit|smaller model/);
  });

  it.each([
    ["openai/whisper-large-v3", "turns speech into text, so it is no chat model."],
    ["org/M-8B-GGUF:Q4_K_M", "consists of GGUF files. vLLM loads one of them"],
    ["mlx-community/M-8B-4bit", "has weights that are quantized for MLX"],
  ])("that says what no server serves is refused: %s", async (id, words) => {
    const { code, err } = await alone(id);
    expect([code, err.includes(words), err.includes("hub can't be reached")]).toEqual([
      ...[1, true, false],
    ]);
  });
});

describe("what can't be served is said in one sentence, with the way", () => {
  const config = made("LlamaForCausalLM");
  const adapter = JSON.stringify({ base_model_name_or_path: "org/base", r: 8 });
  const cases: readonly (readonly [string, Setting, string])[] = [
    ["GGUF", { files: { "a.Q4.gguf": "x" }, only: true }, "run `ollama pull hf.co/org/model`"],
    [
      "an adapter",
      { files: { "adapter_config.json": adapter, "adapter_model.safetensors": "x" }, only: true },
      `org/model is a LoRA adapter of org/base. If no server serves that model yet, run \`serving models use org/base --write\`. Then add \`adapters: [{ name: model, id: org/model, revision: "${COMMIT}", rank: 8 }]\` to its server and run \`serving fetch\`. If the server has another copy of it, such as a quantized one, add \`trainedOn: org/base\` to the entry.`,
    ],
    [
      "pictures",
      { files: { "model_index.json": "{}" }, only: true, task: "text-to-image" },
      "makes pictures (a diffusion pipeline)",
    ],
    ["speech", { ...LLAMA, task: "automatic-speech-recognition" }, "is a model for speech"],
    [
      "a class that none has",
      of(JSON.stringify({ ...JSON.parse(config), architectures: ["NoneForCausalLM"] }), 16.1),
      "which vLLM 0.30.0 lacks; no version up to 0.33.0 is known to have it.",
    ],
    [
      "MLX",
      of(JSON.stringify({ ...JSON.parse(config), quantization: { group_size: 64, bits: 4 } }), 4.5),
      "org/model has weights that are quantized for MLX, which vLLM doesn't read",
    ],
    ["no chat template", { files: { "config.json": config } }, "has no chat template"],
  ];
  it.each(cases)("%s", async (_, setting, words) => {
    const { code, err } = await use(setting);
    expect([code, err.trim().split("\n").length]).toEqual([1, 1]);
    expect(err).toContain(words);
  });
});

it("an adapter's entry is planned as it is said, and goes with another model", async () => {
  const base = "Qwen/Qwen3.6-35B-A3B-FP8";
  const adapter = JSON.stringify({ base_model_name_or_path: base, r: 8 });
  const files = { "adapter_config.json": adapter, "adapter_model.safetensors": "x" };
  const server = ALONE.replace("id: nvidia/Qwen3.6-35B-A3B-NVFP4", `id: ${base}`);
  const { err } = await use({ files, only: true, text: server });
  const [, entry = ""] = /add `(adapters: [^`]*)`/.exec(err) ?? [];
  const text = server.replace(/^( *)servedModelName:/m, `$1${entry}\n$&`);
  const { code, dgx, planned } = await use({ ...LLAMA, text, args: ["--write"] });
  expect(parse(text).config["local-serving:machines"].dgx.inferenceServers.b.adapters).toEqual([
    { name: "model", id: MODEL, revision: COMMIT, rank: 8 },
  ]);
  expect(
    parseStackFile("Pulumi.dgx.yaml", text).machines.dgx?.inferenceServers.b?.adapters,
  ).toHaveLength(1);
  expect([code, planned?.code]).toEqual([0, 0]);
  expect(dgx.inferenceServers.b).not.toHaveProperty("adapters");
  expect(() => plan(parseStackFile("Pulumi.dgx.yaml", text), { home: "/home/me" })).not.toThrow();
});

describe("a model whose class came with a newer vLLM", () => {
  const config = JSON.stringify({
    ...JSON.parse(made("LlamaForCausalLM")),
    architectures: [LATER],
  });
  const repositoryOf = async (tags: readonly string[]) =>
    `${(await standInRegistry("vllm/vllm-openai", tags)).address}/vllm/vllm-openai`;
  const setting = (repository: string, vllm: string): Setting => ({
    ...of(config, 16.1),
    text: ALONE.replace("image: vllm/vllm-openai", `image: ${repository}`),
    env: pullingDocker({ vllm, transformers: "5.16.1" }).env,
  });
  const WHY =
    "It needs vLLM 0.33.0 or newer (judged: the first vLLM that is known to have its class, DAY); the server's image has 0.30.0.";
  const withoutDay = (text: string) => text.replace(/\d{4}-\d\d-\d\d(?=\);)/g, "DAY");

  it("is proposed with the newest release, and written with it once that was read", async () => {
    const repository = await repositoryOf(["v0.30.0", "v0.33.0"]);
    const image = `${repository}:v0.33.0@${digestOf("v0.33.0")}`;
    const shown = await use(setting(repository, "0.33.0"));
    expect([shown.code, shown.err]).toEqual([0, `Asking the registry of ${repository} ...\n`]);
    expect(withoutDay(shown.out)).toContain(
      `\nAnother image:\n  ${image}\n  in place of ${repository}:v0.30.0 (vLLM 0.30.0). ${WHY} The next \`serving up\` replaces b.\n`,
    );
    const used = await use({ ...setting(repository, "0.33.0"), args: ["--write"] });
    expect([used.code, used.dgx.inferenceServers.b.image]).toEqual([0, image]);
    expect([used.planned?.code, used.planned?.err]).toEqual([0, ""]);
  });

  it("is not written with an image that turns out to be older", async () => {
    const repository = await repositoryOf(["v0.30.0"]);
    const args = ["--image", `${repository}:latest`, "--write"];
    const { code, err, dgx } = await use({ ...setting(repository, "0.32.0"), args });
    expect([code, dgx.inferenceServers.b.model.id]).toEqual([1, "nvidia/Qwen3.6-35B-A3B-NVFP4"]);
    expect(withoutDay(err.trim())).toBe(
      `Nothing was written: the image is refused. ${WHY.replace("has 0.30.0", "has 0.32.0")} Choose another: the same command with \`--image ${repository}:TAG --write\`.`,
    );
  });
});

it.each([
  ["Qwen--Qwen3.6-35B-A3B-FP8", kept("Qwen--Qwen3.6-35B-A3B-FP8"), 35],
  ["openai--gpt-oss-20b", kept("openai--gpt-oss-20b"), 14],
  ["Llama, in a longer list of templates", made("LlamaForCausalLM"), 16.1],
  ["a config with Infinity in it, as Python writes it", made("GraniteMoeHybridForCausalLM"), 14],
  ["a config that lacks the width of a head", made("Glm4MoeForCausalLM"), 60],
])("%s, without a recipe, is written and planned", async (_, config, gb) => {
  const text = ALONE.replace(/claudeCode:\n(?: {10}.*\n)+ {8}codex: \{\}\n/, "");
  const { code, err, project, planned } = await use({ ...of(config, gb), text, args: ["--write"] });
  expect([code, err]).toEqual([0, ""]);
  expect(readFileSync(join(project, "models/org--model/config.json"), "utf8")).toBe(config);
  expect([planned?.code, planned?.err]).toEqual([0, ""]);
  expect(planned?.out).not.toContain("WOULD NOT START");
});

it("makes vectors without a recipe beside the chat model, at the share that it needs", async () => {
  const config = made("Qwen3ForCausalLM");
  const setting = { ...of(config, 1.2), task: "feature-extraction", args: ["--write"] };
  const { code, err, out, dgx, planned } = await use({
    ...setting,
    text: ALONE.replace("gpuMemoryUtilization: 0.45", "gpuMemoryUtilization: 0.62"),
  });
  expect([code, err]).toEqual([0, ""]);
  const { b, embedding } = dgx.inferenceServers;
  expect([b.gpuMemoryUtilization, embedding.gpuMemoryUtilization]).toEqual([0.62, 0.28]);
  expect(out).toContain(
    "gpuMemoryUtilization: 0.28  the most that is left of 0.30 (computed: its weights and one request, beside the most that any start is known to have taken",
  );
  expect([planned?.code, planned?.err]).toEqual([0, ""]);
});
