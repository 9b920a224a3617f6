// Recipes as people publish them, made up but for NVIDIA's: the profile of a DGX Spark in
// NVIDIA/NemoClaw docs/inference/dgx-spark-recipe.mdx, there with the image 26.05.post1, and the script of the one with 64 GB in
// NVIDIA/dgx-spark-playbooks (sync-vllm-single-spark-64gb.sh, 19491904).
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { httpServer } from "../../layers/httpServer";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { COMMIT, StandInHub } from "../fetch/standInHub";
import { madeFacts } from "../init/madeFacts";
import { runServing } from "../runServing";

const MODEL = "nvidia/Qwen3.6-35B-A3B-NVFP4";
const NVIDIA = `docker run -d --gpus all --ipc host -p 127.0.0.1:8000:8000 nvcr.io/nvidia/vllm:26.10-py3 \\
  vllm serve ${MODEL} --gpu-memory-utilization 0.4 --max-model-len 262144 --max-num-seqs 4 \\
  --max-num-batched-tokens 8192 --kv-cache-dtype fp8 --load-format fastsafetensors \\
  --speculative-config '{"method":"mtp","num_speculative_tokens":3}'`;
const NVIDIA_64 = `docker run -d --gpus all --ipc host --entrypoint "" -p "127.0.0.1:8000:8000" \\
  -e HF_HUB_OFFLINE=1 vllm/vllm-openai:qwen38 vllm serve nvidia/Qwen3.8-27B-NVFP4 \\
  --host 0.0.0.0 --port 8000 --tensor-parallel-size 1 --kv-cache-dtype fp8 \\
  --gpu-memory-utilization 0.7 --max-model-len 262144 --max-num-seqs 8 \\
  --max-num-batched-tokens 8192 --load-format fastsafetensors`;

/** A small model whose cache can be planned. */
const QWEN = readFileSync("test/fixtures/hub-configs/Qwen3ForCausalLM.json", "utf8");
const CHATS = JSON.stringify({ chat_template: '<tool_call>\\n{\\"name\\": ' });

const NO_HUB = "http://127.0.0.1:9";

let folder = "";
let hub = NO_HUB;

beforeEach(() => {
  folder = temporaryFolder("fit-");
  mkdirSync(join(folder, "home"));
  hub = NO_HUB;
});

afterEach(() => void vi.unstubAllEnvs());

/** Runs `serving fit` in an empty folder, where no hub can be reached. */
async function ask(...args: string[]) {
  const cwd = vi.spyOn(process, "cwd").mockReturnValue(folder);
  try {
    return await runServing(["fit", ...args], { HOME: join(folder, "home"), HF_ENDPOINT: hub });
  } finally {
    cwd.mockRestore();
  }
}

async function judged(...args: string[]) {
  const { code, out } = await ask(...args, "--format", "json");
  return { code, ...JSON.parse(out) };
}

const file = (text: string, name = "recipe.txt") => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

const serve = (share: number, more = "") =>
  `vllm serve openai/gpt-oss-20b --gpu-memory-utilization ${share} --max-model-len 131072 ${more}`;

describe("the exit code of serving fit", () => {
  it.each<[string, string, readonly string[], number, string]>([
    ["a command that starts", serve(0.6), [], 0, "starts"],
    ["the same, strictly", serve(0.6), ["--strict"], 0, "starts"],
    ["one that may start", NVIDIA, [], 0, "may start"],
    ["the same, strictly", NVIDIA, ["--strict"], 1, "may start"],
    ["NVIDIA's script for 64 GB", NVIDIA_64, ["--machine", "spark-64"], 0, "may start"],
    ["a share below the weights", serve(0.05), [], 1, "cannot start"],
    ["a batch that vLLM refuses", serve(0.6, "--max-num-batched-tokens 2"), [], 1, "cannot start"],
    ["more than is free after a boot", serve(0.9), [], 0, "may start"],
    ["an unknown model", "vllm serve org/unknown", [], 1, "not judged"],
    ["several GPUs", serve(0.6, "--tensor-parallel-size 2"), [], 1, "not judged"],
  ])("is by the verdict: %s", async (_, text, options, code, verdict) => {
    expect(await judged(file(text), ...options)).toMatchObject({ code, verdict, version: 1 });
  });

  it.each<[string, string, RegExp]>([
    [
      "Qwen/Qwen3.5-397B-A17B-FP8",
      "cannot start",
      /`hf download Qwen\/Qwen3.5-397B-A17B-FP8` brings it into that cache.*rests on its name alone/,
    ],
    [
      "BAAI/bge-m3",
      "not judged",
      /By its name it is for embeddings: it is `model.kind: embedding`/,
    ],
    ["Qwen/Qwen3Guard-Gen-8B", "not judged", /By its name it judges texts \(a guard\)/],
  ])("is by the name where no cache has the model: %s", async (id, verdict, said) => {
    const { change, ...found } = await judged(id);
    expect(found).toMatchObject({ code: 1, verdict });
    expect(change.at(-1)).toMatch(said);
  });

  it.each([
    [
      "unsloth/Qwen3-32B-AWQ",
      /^its weights take about 18 of its 97\.35 GiB \(32B parameters of 4\.125 bits, by its name\); the rest isn't known\. Its KV cache isn't planned\. No config/,
    ],
    [
      "mistralai/Mixtral-8x7B-Instruct-v0.1",
      /^its weights take about 84 of its 97\.35 GiB \(8x7B, about 45B parameters of 16 bits, by its name\)/,
    ],
    [
      "org/Made-53B",
      /^its weights take at least 9\d\.\d\d of its 97\.35 GiB, which fits, but about 98\.72, which doesn't, so it may not start \(53B parameters of 16 bits, by its name\); the rest isn't known\. /,
    ],
  ])("says what the name tells where it fits: %s", async (id, why) => {
    const byId = await judged(id);
    expect(byId).toMatchObject({ code: 1, verdict: "not judged", why: expect.stringMatching(why) });
    const byCommand = await judged(`vllm serve ${id}`);
    expect(byCommand.why).toBe(byId.why);
  });

  it("names the model that was meant, by id and by command", async () => {
    const byId = await judged("openai/gpt-oss120b");
    expect(byId.why).toMatch(
      /^Did you mean `openai\/gpt-oss-120b`\? Neither the catalogue nor this computer's model cache has openai\/gpt-oss120b, /,
    );
    const byCommand = await judged("vllm serve openai/gpt-oss120b");
    expect(byCommand.why).toContain("Did you mean `openai/gpt-oss-120b`?");
  });

  it.each([
    [
      "other hardware",
      "rocm/vllm-dev:open-mi300-08052025",
      "",
      "cannot start",
      "rocm/vllm-dev:open-mi300-08052025 can't be used: its name says that it is made for AMD GPUs (`rocm`), and servers here run on an NVIDIA GPU and an Arm processor (aarch64). Take an image of vLLM for these, such as vllm/vllm-openai:v0.30.0.",
    ],
    [
      "another engine",
      "lmsysorg/sglang:v0.5.9",
      "",
      "cannot start",
      "lmsysorg/sglang:v0.5.9 can't be used: its name says SGLang. Only vLLM is planned here: start SGLang yourself, and declare its memory as the machine's `otherGpuMemoryGiB`.",
    ],
    [
      "a release below the floor",
      "vllm/vllm-openai:v0.8.5",
      "",
      "not judged",
      "vllm/vllm-openai:v0.8.5 can't be used: its tag says vllm 0.8.5, below 0.26.0. Pin vllm 0.26.0 or newer.",
    ],
    [
      "a device of other hardware",
      "own/server:1",
      "--device /dev/kfd",
      "cannot start",
      "The command is for AMD GPUs (--device /dev/kfd), and servers here run on an NVIDIA GPU and an Arm processor (aarch64): take a command for these.",
    ],
    [
      "another processor",
      "vllm/vllm-openai:v0.30.0",
      "--platform linux/amd64",
      "cannot start",
      "The command is for x86-64 processors (--platform linux/amd64), and servers here run on an NVIDIA GPU and an Arm processor (aarch64): leave that out.",
    ],
  ])("says first what init says of the image: %s", async (_, image, options, verdict, why) => {
    const command = `docker run ${options} --entrypoint vllm ${image} serve openai/gpt-oss-20b --gpu-memory-utilization 0.6 --max-model-len 8192`;
    const found = await judged(command);
    expect(found).toMatchObject({ code: 1, verdict, why });
    expect(found.change[0]).toMatch(/^With an image that can be used it starts: /);
  });

  it("judges what several GPUs share where even one machine's memory is too small", async () => {
    const id = "hugging-quants/Meta-Llama-3.1-405B-Instruct-AWQ-INT4";
    const found = await judged(`vllm serve ${id} --tensor-parallel-size 2`);
    expect(found).toMatchObject({ code: 1, verdict: "cannot start" });
    expect(found.why).toMatch(/by its name its weights take 187\.\d+ of /);
    expect(found.change.at(-1)).toContain("--tensor-parallel-size 2");
    const fits = await judged("vllm serve org/M-8B --tensor-parallel-size 2");
    expect(fits).toMatchObject({ verdict: "not judged", server: { settings: null } });
    expect(fits.why).toMatch(/^it is for several GPUs/);
    expect(fits.change).toEqual([expect.stringContaining("about 15 of its")]);
  });

  it("says how to have Claude Code where a known model's tool calls are off", async () => {
    const told = async (more = "") =>
      (await judged(file(serve(0.6, more)))).server.notInTheCommand.join("\n");
    expect(await told()).toContain(
      "Claude Code and Codex need structured tool calls, which the command leaves off, so no coding client gets a file. To have them, write `tools: { parser: openai }`",
    );
    expect(await told("--enable-auto-tool-choice --tool-call-parser openai")).not.toContain(
      "Claude",
    );
  });

  it("tells a flag that this vLLM lacks, which takes no memory", async () => {
    const found = await judged(serve(0.6, "--swap-space 60"));
    expect(found).toMatchObject({ code: 0, verdict: "starts" });
    expect(found.change).toEqual([
      expect.stringMatching(/vLLM 0\.30\.0 has no flag `--swap-space`\. Remove it\./),
    ]);
  });

  it.each<[string, RegExp | undefined]>([
    [
      "vllm/vllm-openai:v0.30.0 vllm serve",
      /^`vllm serve` stands behind the image vllm\/vllm-openai:v0\.30\.0, whose entrypoint is `vllm serve` already: .* It is left out here\.$/,
    ],
    [
      "vllm/vllm-openai:latest vllm serve",
      /^`vllm serve` stands behind the image vllm\/vllm-openai:latest\. The image's entrypoint may say it already, /,
    ],
    ["lmcache/vllm-openai:v0.4 vllm serve", /The image's entrypoint may say it already/],
    ["vllm/vllm-openai:v0.30.0", undefined],
    ["--entrypoint '' vllm/vllm-openai:v0.30.0 vllm serve", undefined],
    ["nvcr.io/nvidia/vllm:26.10-py3 vllm serve", undefined],
    ["vllm-node vllm serve", undefined],
  ])("says of a start that stands twice that it fails: %s", async (run, said) => {
    const command = `docker run --gpus all ${run} openai/gpt-oss-20b --gpu-memory-utilization 0.6 --max-model-len 8192`;
    const { server } = await judged(command);
    const told = server.notInTheCommand.filter((each: string) => each.includes("entrypoint"));
    expect(told).toEqual(said === undefined ? [] : [expect.stringMatching(said)]);
  });

  it("leaves open what an option makes of the weights, as plan does", async () => {
    const found = await judged(serve(0.6, `--hf-overrides '{"num_hidden_layers": 4}'`));
    expect(found).toMatchObject({ code: 1, verdict: "not judged" });
    expect(found.why).toMatch(/^Whether b can start isn't judged\. What its/);
  });

  it.each(["mxfp4", "gpt_oss_mxfp4", "fp8"])("and plan agree on --quantization %s", async (how) => {
    const { verdict, change } = await judged(serve(0.6, `--quantization ${how}`));
    expect({ verdict, change }).toEqual({ verdict: "starts", change: [] });
  });

  it("gives a model the kind and the window that its name allows", async () => {
    const settings = async (id: string) => (await judged(id)).server.settings;
    expect(await settings("BAAI/bge-reranker-v2-m3")).toMatchObject({
      ...{ model: { kind: "rerank" }, maxModelLen: 512, gpuMemoryUtilization: 0.1 },
    });
    expect(await settings("meta-llama/Llama-Guard-3-8B")).toMatchObject({
      ...{ model: { kind: "chat" }, maxModelLen: 4096, tools: { autoChoice: false } },
    });
  });

  it.each(["openai/whisper-large-v3", "hexgrad/Kokoro-82M"])("plans no chat for %s", async (id) => {
    expect(await judged(id)).toMatchObject({
      ...{ code: 1, verdict: "not judged", server: { settings: null } },
      why: expect.stringMatching(/so it is no chat model\. No server here supports such a model/),
    });
  });

  it.each(["org/M-8B-GGUF", "org/M-8B-GGUF:Q4_K_M"])("asks no hub about %s", async (id) => {
    expect(await judged(id)).toMatchObject({
      ...{ code: 1, verdict: "not judged" },
      why: expect.stringContaining(`By its name, ${id} consists of GGUF files.`),
    });
  });

  it.each([
    ["a text without a server", "echo hello", /\/recipe\.txt: No start of vLLM was found/],
    ["a recipe that is no YAML", "model: [", /\/recipe\.txt:1:\d+: not valid YAML/],
    [
      "a GGUF",
      "vllm serve a/b-GGUF",
      /\/recipe\.txt: Its model's name says GGUF: a\/b-GGUF consists/,
    ],
  ])("is 2 for what can't be read: %s", async (_, text, message) => {
    const { code, out, err } = await ask(file(text));
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toMatch(message);
    expect(err).not.toContain("--from-command");
  });

  it("is 2 for an unknown machine, a missing file and an unknown name", async () => {
    const machine = await ask("gpt-oss-20b", "--machine", "nowhere");
    expect(machine.code).toBe(2);
    expect(machine.err).toContain("Write one of spark, spark-64, n1x, thor, or a file with");
    const missing = await ask("recipe.yaml");
    expect(missing.code).toBe(2);
    expect(missing.err).toMatch(/^recipe\.yaml: /);
    const name = await ask("nope");
    expect(name.code).toBe(2);
    expect(name.err).toContain("nope is not in the catalogue");
  });
});

describe("serving fit", () => {
  it("says the verdict first, then memory, agents and what to change", async () => {
    const { out, err } = await ask(file(NVIDIA));
    expect(err).toBe("");
    expect(out).toMatch(new RegExp(`^may start: ${MODEL} on a DGX Spark \\(121\\.69 GiB\\): `));
    expect(out).toContain("gpuMemoryUtilization 0.4, maxModelLen 262144, maxNumSeqs 4");
    expect(out).toMatch(/^ {2}\[1+\d*\.+\]$/m);
    expect(out).toMatch(/agents at once +\d/);
    expect(out).toMatch(/To change:\n {2}- may not start: one published log, of this model /);
  });

  it("reads stdin, a command in quotes and a recipe alike", async () => {
    const recipe = `recipe_version: "1"\nmodel: openai/gpt-oss-20b\ndefaults:\n  share: 0.6\ncommand: |\n  ${serve(0.6).replace("0.6", "{share}")}\n`;
    vi.spyOn(process, "stdin", "get").mockReturnValue(
      Readable.from([serve(0.6)]) as typeof process.stdin,
    );
    const [piped, quoted, read] = [
      await judged("-"),
      await judged(serve(0.6)),
      await judged(file(recipe, "recipe.yaml")),
    ];
    vi.restoreAllMocks();
    expect(quoted).toMatchObject({
      verdict: "starts",
      machine: { name: "spark", what: "a DGX Spark", totalGiB: 121.69 },
      server: { model: "openai/gpt-oss-20b", settings: { maxModelLen: 131_072 } },
      change: [],
    });
    for (const each of [piped, read]) expect(each).toEqual(quoted);
  });

  it("judges a model by the settings that `models use` would write", async () => {
    const found = await judged("gpt-oss-20b");
    expect(found).toMatchObject({ code: 0, server: { model: "openai/gpt-oss-20b" } });
    expect(found.memory.kv.agents[0].atOnce).toBeGreaterThan(0);
    const large = await judged("gpt-oss-120b", "--machine", "spark-64");
    expect(large).toMatchObject({ code: 1, verdict: "cannot start" });
    const two = await judged("saricles/MiniMax-M2.7-NVFP4-GB10");
    expect(two).toMatchObject({ code: 1, verdict: "cannot start", memory: null });
    expect(two.why).toContain("It needs 2 machines");
  });

  it("never asks the hub, says who does, and reads what is in the model cache", async () => {
    const stored = new StandInHub(1000, { "config.json": QWEN, "tokenizer_config.json": CHATS });
    const asked = vi.fn();
    const { url } = await httpServer((request, response) => {
      asked();
      void stored.answer(request, response);
    });
    hub = url;
    const given = ["org/model", "vllm serve org/model"];
    const before = [];
    for (const each of given) before.push(await judged(each));
    expect(before.map(({ verdict }) => verdict)).toEqual(["not judged", "not judged"]);
    for (const { why, change } of before)
      expect([why, ...change].join(" ")).toContain(
        "Neither the catalogue nor this computer's model cache has org/model, and `serving fit` asks no hub: `serving models use org/model` of a project does, and `hf download org/model` brings it into that cache.",
      );
    const snapshot = join(
      folder,
      "home/.cache/huggingface/hub/models--org--model/snapshots",
      COMMIT,
    );
    mkdirSync(snapshot, { recursive: true });
    for (const [name, { body }] of stored.files)
      if (!name.includes("/")) writeFileSync(join(snapshot, name), body);
    for (const each of given) {
      const { verdict, change } = await judged(each);
      expect({ verdict, change }).toEqual({ verdict: "starts", change: [] });
    }
    expect(asked).not.toHaveBeenCalled();
  });

  it("takes the facts of a machine, with what runs there", async () => {
    const facts = await madeFacts();
    expect(await judged("gpt-oss-20b", "--machine", facts)).toMatchObject({
      ...{ code: 0, machine: { name: "spark-7f3a", what: "a DGX Spark" } },
    });
  });

  it("judges nothing on a machine that gets no server", async () => {
    const facts: object = JSON.parse(readFileSync(await madeFacts(), "utf8"));
    const other = file(JSON.stringify({ ...facts, device: "other" }), "other.json");
    const found = await judged("gpt-oss-20b", "--machine", other);
    expect(found).toMatchObject({ code: 1, verdict: "not judged", memory: null });
  });
});

describe("what comes behind a verdict", () => {
  it("is the command that writes the server, by what was given", async () => {
    const named = await ask("gpt-oss-20b");
    expect(named.out.split("\nNext:\n")[1]).toMatch(
      /serving models use openai\/gpt-oss-20b --write\n$/,
    );
    const command = "vllm serve openai/gpt-oss-20b --max-model-len 8192";
    expect((await ask(command)).out).toMatch(
      new RegExp(`\\nNext:\\n.*serving init --from-command '${command}' {3}# pins its image`),
    );
    const never = await ask("vllm serve nvidia/DeepSeek-V4-Flash-NVFP4", "--machine", "spark-64");
    expect([never.code, never.out.includes("Next:")]).toEqual([1, false]);
  });

  it("is judged for the machine of the folder's stack file, and else for a DGX Spark", async () => {
    const own = temporaryFolder("fit-project-");
    writeFileSync(join(own, "Pulumi.yaml"), "name: local-serving\nruntime: nodejs\n");
    const text = "config: { local-serving:machines: { lab: { totalGiB: 61, instanceA: none } } }\n";
    writeFileSync(join(own, "Pulumi.lab.yaml"), text);
    const cwd = vi.spyOn(process, "cwd").mockReturnValue(own);
    const [here, other] = [
      await runServing(["fit", "openai/gpt-oss-20b"]),
      await runServing(["fit", "openai/gpt-oss-20b", "--machine", "spark"]),
    ];
    cwd.mockRestore();
    expect(here.err).toBe(
      "It is judged for the machine of Pulumi.lab.yaml, as if nothing else ran there.\n",
    );
    expect(here.out).toContain("(61 GiB)");
    expect([other.err, other.out.includes("(121.69 GiB)")]).toEqual(["", true]);
  });
});
