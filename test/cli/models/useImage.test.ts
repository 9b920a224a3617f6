import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { readEvidence } from "../../../components/evidence/readEvidence";
import { plan } from "../../../components/plan/plan";
import { serversOn } from "../../../components/planned";
import { declaredResources } from "../../../components/program/machine/declaredResources";
import { loadStackFile } from "../../../components/settings/load";
import { judge } from "../../../policies/judge";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { FakeDocker } from "../fakeDocker";
import { digestOf, standInRegistry } from "../pin/standInRegistry";
import { runServing } from "../runServing";
import { PLATFORM, PULLED, pullingDocker } from "./pullingDocker";

const ALONE = readFileSync("Pulumi.dgx.yaml", "utf8").replace(
  /instanceA:\n(?: {8}.*\n)+/,
  "instanceA: none\n",
);
const SECOND = `    dgx2:
      dockerHost: ssh://me@dgx2
      totalGiB: 121.63
      link: { interface: enp1s0f1np1, address: 192.168.100.12 }
      instanceA: none
`;
const LINKED = `${ALONE.replace("instanceA:", "link: { interface: enp1s0f1np1, address: 192.168.100.11 }\n      instanceA:").trimEnd()}\n${SECOND}`;

function stackFile(text: string): string {
  const file = join(temporaryFolder("use-image-"), "Pulumi.dgx.yaml");
  writeFileSync(file, text);
  return file;
}

const WELL = { vllm: "0.31.0", transformers: "5.12.1" };

const docker = (repository: string, versions: Readonly<Record<string, string>> = WELL) =>
  pullingDocker(versions, repository);
const offline = () => new FakeDocker({ pull: { code: 1 } });

const serversOf = (file: string) =>
  parse(readFileSync(file, "utf8")).config["local-serving:machines"].dgx.inferenceServers;

/** The plan of a stack file, which no policy may refuse. */
function cleanPlan(file: string) {
  const settings = loadStackFile(file);
  const planned = plan(settings, readEvidence(settings, process.cwd()));
  const refused = judge(declaredResources(planned)).filter(({ verdict }) => verdict === "refused");
  expect(refused).toEqual([]);
  return planned;
}

const B12X = "eugr/spark-vllm-b12x";
const DEEPSEEK = ["models", "use", "deepseek-v4-flash-0731", "--file"];
const WHY = `Its recipe needs an image of ${B12X} (published: vllm-project/recipes, DeepSeek-V4-Flash, for two DGX Sparks; the tag: eugr/spark-vllm-docker README, 2026-09-15).`;

const ENVIRONMENT = {
  PYTORCH_CUDA_ALLOC_CONF: "expandable_segments:True",
  CUTE_DSL_ARCH: "sm_121a",
  VLLM_USE_AOT_COMPILE: "1",
  VLLM_USE_BREAKABLE_CUDAGRAPH: "0",
  VLLM_USE_MEGA_AOT_ARTIFACT: "-1",
  VLLM_MEMORY_PROFILE_INCLUDE_ATTN: "1",
  VLLM_USE_FLASHINFER_SAMPLER: "1",
  VLLM_USE_B12X_WO_PROJECTION: "1",
  VLLM_USE_B12X_MHC: "1",
  VLLM_USE_B12X_FP8_GEMM: "1",
  VLLM_USE_B12X_MOE: "1",
  VLLM_USE_B12X_SPARSE_INDEXER: "1",
  VLLM_USE_V2_MODEL_RUNNER: "1",
  B12X_MLA_SM120_UNIFIED: "1",
  B12X_MOE_FORCE_A8: "1",
};

/** The arguments of one rank. */
const rankCommand = (rank: number) => [
  "deepseek-ai/DeepSeek-V4-Flash-0731",
  ...["--served-model-name", "deepseek-v4-flash-0731", "deepseek-ai/DeepSeek-V4-Flash-0731"],
  ...["--host", "192.168.100.11", "--port", "8001", "--tensor-parallel-size", "2"],
  ...["--max-model-len", "1048576", "--max-num-seqs", "8", "--max-num-batched-tokens", "8192"],
  ...["--gpu-memory-utilization", "0.85", "--kv-cache-dtype", "fp8"],
  ...["--enable-chunked-prefill", "--enable-prefix-caching"],
  ...["--enable-auto-tool-choice", "--tool-call-parser", "deepseek_v4"],
  ...["--reasoning-parser", "deepseek_v4", "--moe-backend", "b12x"],
  ...["--attention-backend", "B12X_MLA_SPARSE", "--load-format", "instanttensor"],
  ...["--allowed-origins", "[]", "--nnodes", "2", "--node-rank", String(rank)],
  // The second rank serves no API.
  ...(rank > 0 ? ["--headless"] : []),
  ...["--master-addr", "192.168.100.11", "--master-port", "29501"],
  ...["--distributed-timeout-seconds", "1800", "--tokenizer-mode=deepseek_v4"],
  ...["--block-size=256", "--linear-backend=b12x", "--max-cudagraph-capture-size=64"],
];

describe("DeepSeek-V4-Flash-0731 on two linked machines", () => {
  it("is proposed with its image, who says that, and what it replaces; nothing is pulled", async () => {
    const file = stackFile(LINKED);
    const fake = docker(B12X);
    const { code, err, out } = await runServing([...DEEPSEEK, file], fake.env);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain(`\n+          image: ${B12X}:latest\n`);
    expect(out).toMatch(/\n- {10}image: vllm\/vllm-openai:v0\.30\.0@sha256:\w+\n- {10}versions:\n/);
    expect(out).toContain(
      `\nAnother image:\n  ${B12X}:latest\n  in place of vllm/vllm-openai:v0.30.0 (vLLM 0.30.0). ${WHY} The next \`serving up\` replaces b.\n  --write pulls it, then reads and writes its digest and the versions inside, as \`serving pin\` does.\n`,
    );
    expect(out).toMatch(/\nWrite it: the same command with --write\n$/);
    const json = await runServing([...DEEPSEEK, file, "--format", "json"], fake.env);
    expect(JSON.parse(json.out)).toMatchObject({
      ...{ verdict: "perhaps", image: `${B12X}:latest`, written: false },
      imageChange: {
        image: `${B12X}:latest`,
        replaces: "vllm/vllm-openai:v0.30.0 (vLLM 0.30.0)",
        why: WHY,
      },
    });
    expect([readFileSync(file, "utf8"), readFileSync(fake.asked, "utf8")]).toEqual([LINKED, ""]);
  });

  it("is written as in its published recipe, with the image as it was read, and plans clean", async () => {
    const file = stackFile(LINKED);
    const { env } = docker(B12X);
    const used = await runServing([...DEEPSEEK, file, "--write"], env);
    expect([used.code, used.err]).toEqual([0, ""]);
    expect(used.out).toContain(
      `\n  ${B12X}:latest@${PULLED}\n  in place of vllm/vllm-openai:v0.30.0 (vLLM 0.30.0). ${WHY} The next \`serving up\` replaces b.\n  Inside it: vllm 0.31.0, transformers 5.12.1.\n`,
    );
    expect(serversOf(file)).toEqual({
      b: {
        model: { id: "deepseek-ai/DeepSeek-V4-Flash-0731", kind: "chat", thinking: true },
        servedModelName: "deepseek-v4-flash-0731",
        image: `${B12X}:latest@${PULLED}`,
        versions: {
          ...{ ...WELL, evidence: "read", digest: PULLED, platformDigest: PLATFORM },
          source: `serving pin, ${PLATFORM.slice(0, 19)}`,
        },
        port: 8001,
        nodes: ["dgx", "dgx2"],
        tensorParallelSize: 2,
        gpuMemoryUtilization: 0.85,
        maxModelLen: 1_048_576,
        maxNumSeqs: 8,
        maxNumBatchedTokens: 8192,
        kvCacheDtype: "fp8",
        chunkedPrefill: true,
        prefixCaching: true,
        tools: { autoChoice: true, parser: "deepseek_v4" },
        reasoningParser: "deepseek_v4",
        moeBackend: "b12x",
        attentionBackend: "B12X_MLA_SPARSE",
        loadFormat: "instanttensor",
        compileJobs: 2,
        environment: ENVIRONMENT,
        extraArgs: [
          ...["--tokenizer-mode=deepseek_v4", "--block-size=256", "--linear-backend=b12x"],
          "--max-cudagraph-capture-size=64",
        ],
      },
    });
    const { machines } = cleanPlan(file);
    const ranks = machines.flatMap((machine) =>
      serversOn(machine).map(({ container }) => [machine.name, container.image, container.command]),
    );
    const image = `${B12X}:latest@${PULLED}`;
    expect(ranks).toEqual([
      ["dgx", image, rankCommand(0)],
      ["dgx2", image, rankCommand(1)],
    ]);
    const again = await runServing([...DEEPSEEK, file, "--write"], offline().env);
    expect([again.code, again.out]).toEqual([
      0,
      expect.stringContaining(`${file} has all of this already.`),
    ]);
    expect(again.out).not.toContain("Another image");
  });

  it("where the image can't be pulled: nothing is written, and what it says to do ends in a clean plan", async () => {
    const file = stackFile(LINKED);
    const pin = `serving pin ${B12X}:latest --entry dgx.inferenceServers.b --write --file ${file}`;
    const failed = await runServing([...DEEPSEEK, file, "--write"], offline().env);
    expect([failed.code, failed.out]).toEqual([1, ""]);
    expect(failed.err).toContain(
      `could not be fetched: nothing says why. See to that, then run this again. Nothing was written. Run \`${pin}\` where Docker can pull it, then run this again.`,
    );
    expect(readFileSync(file, "utf8")).toBe(LINKED);
    const pinned = await runServing(pin.split(" ").slice(1), docker(B12X).env);
    expect([pinned.code, pinned.err]).toEqual([0, ""]);
    const again = await runServing([...DEEPSEEK, file, "--write"], offline().env);
    expect([again.code, again.err]).toEqual([0, ""]);
    cleanPlan(file);
  });

  it("is not written with an image that must not run", async () => {
    const file = stackFile(LINKED);
    const { env } = docker(B12X, { ...WELL, vllm: "0.1.dev20610+g4b276a363" });
    const { code, out, err } = await runServing([...DEEPSEEK, file, "--write"], env);
    expect([code, out, readFileSync(file, "utf8")]).toEqual([1, "", LINKED]);
    expect(err.trim()).toBe(
      `Nothing was written: the image is refused. b's image can't be used: it holds vllm 0.1.dev20610+g4b276a363, below 0.26.0. The floors are vllm 0.26.0 and transformers 5.8.0; pin an image that holds them. It is \`${B12X}:latest@${PULLED}\`. In the stack file: \`machines.dgx.inferenceServers.b.image\`. Transformers 5.12.1 in the image of b was not checked. Which range vLLM 0.1.dev20610+g4b276a363 takes is known of 0.26 to 0.33 only. deepseek-ai/DeepSeek-V4-Flash-0731 needs vLLM 0.25.0 or newer, by the catalogue. Choose another: the same command with \`--image ${B12X}:TAG --write\`.`,
    );
  });

  it("takes another tag, of a mirror too, and no image of another path", async () => {
    const file = stackFile(LINKED);
    const mirror = `localhost:5000/${B12X}`;
    const use = [...DEEPSEEK, file, "--image"];
    const named = await runServing(
      [...use, `${mirror}:nightly-20261004`, "--write"],
      docker(mirror).env,
    );
    expect([named.code, named.err]).toEqual([0, ""]);
    expect(serversOf(file).b.image).toBe(`${mirror}:nightly-20261004@${PULLED}`);
    cleanPlan(file);
    for (const [image, message] of [
      ["vllm/vllm-openai:v0.33.0", `--image vllm/vllm-openai:v0.33.0: ${WHY}`],
      [
        "vllm/vllm-openai",
        "vllm/vllm-openai: expected IMAGE:TAG, for example vllm/vllm-openai:v0.30.0 (it has no tag)",
      ],
    ] as const) {
      const { code, err } = await runServing([...use, image]);
      expect([code, err.trim()]).toEqual([2, message]);
    }
  });
});

const OFFICIAL = "vllm/vllm-openai";
const FLOOR = ["models", "use", "muse-glimmer-30b", "--file"];
const FLOOR_WHY =
  "It needs vLLM 0.28.0 or newer (judged: the first release with its parsers; the recipe names a nightly of 0.27, 2026-11-22); the server's image has 0.27.1.";

/** A server whose vLLM is too old for the model, from a registry with these tags. */
async function older(tags: readonly string[], image?: string) {
  const { address } = await standInRegistry(OFFICIAL, tags);
  const repository = `${address}/${OFFICIAL}`;
  const own = image ?? `${repository}:v0.27.1`;
  const text = ALONE.replace(/image: vllm\/\S+/, `image: ${own}@${PULLED}`)
    .replace("vllm: 0.30.0", "vllm: 0.27.1")
    .replace(/( {12}digest: )\S+/, `$1${PULLED}`);
  return { repository, text, file: stackFile(text) };
}

describe("a model that needs a newer vLLM than its server's", () => {
  it("is proposed with the newest release of the registry that may run, and written with it", async () => {
    const { repository, text, file } = await older(["v0.27.1", "v0.28.0", "v0.31.0", "v0.32.0rc1"]);
    const newest = `${repository}:v0.31.0@${digestOf("v0.31.0")}`;
    const { env } = docker(repository);
    const shown = await runServing([...FLOOR, file], env);
    expect([shown.code, shown.err]).toEqual([0, `Asking the registry of ${repository} ...\n`]);
    expect(shown.out).toContain(`\n+          image: ${newest}\n`);
    expect(shown.out).toContain(
      `\nAnother image:\n  ${newest}\n  in place of ${repository}:v0.27.1 (vLLM 0.27.1). ${FLOOR_WHY} The next \`serving up\` replaces b.\n`,
    );
    expect(readFileSync(file, "utf8")).toBe(text);
    const used = await runServing([...FLOOR, file, "--write"], env);
    expect(used.code).toBe(0);
    expect(serversOf(file).b).toMatchObject({ image: newest, versions: WELL });
    cleanPlan(file);
  });

  it("where the registry has no release, says so, and takes the one that is named", async () => {
    const { repository, text, file } = await older(["v0.27.1", "latest"]);
    const problem = `${repository} has no release that may run.`;
    const again = `the same command with \`--image ${repository}:TAG --write\``;
    const shown = await runServing([...FLOOR, file]);
    expect([shown.code, shown.out]).toEqual([
      0,
      expect.stringContaining(`\n+          image: ${repository}:TAG\n`),
    ]);
    expect(shown.out).toContain(`\n  No tag is chosen: ${problem}\n`);
    expect(shown.out).toMatch(new RegExp(`\\nWrite it: ${again}\\n$`));
    const refused = await runServing([...FLOOR, file, "--write"], docker(repository).env);
    expect([refused.code, refused.out, readFileSync(file, "utf8")]).toEqual([1, "", text]);
    expect(refused.err).toContain(`Nothing was written: ${problem} Choose an image: ${again}.\n`);
    const named = [...FLOOR, file, "--image", `${repository}:latest`, "--write"];
    const old = await runServing(named, docker(repository, { ...WELL, vllm: "0.27.1" }).env);
    expect([old.code, old.err.trim()]).toEqual([
      1,
      `Nothing was written: the image is refused. Inferact/Muse-Glimmer-30B-NVFP4-W4A4 needs vLLM 0.28.0 or newer, by the catalogue. Choose another: ${again}.`,
    ]);
    const used = await runServing(named, docker(repository).env);
    expect([used.code, used.err]).toEqual([0, ""]);
    cleanPlan(file);
  });

  it("where the registry can't be asked, repeats what kept it", async () => {
    const { file } = await older([], "localhost:9/vllm/vllm-openai:v0.27.1");
    const { code, err } = await runServing([...FLOOR, file, "--write"]);
    expect([code, err]).toEqual([
      1,
      "Asking the registry of localhost:9/vllm/vllm-openai ...\nNothing was written: localhost:9 is not reachable: nothing listens there (connection refused). Choose an image: the same command with `--image localhost:9/vllm/vllm-openai:TAG --write`.\n",
    ]);
  });

  it("asks no registry for a model that doesn't fit", async () => {
    const { text } = await older([]);
    const file = stackFile(
      text.replace("instanceA: none", "instanceA: { gpuMemoryUtilization: 0.8 }"),
    );
    const { code, err } = await runServing([...FLOOR, file]);
    expect([code, err.trim()]).toEqual([
      1,
      "Inferact/Muse-Glimmer-30B-NVFP4-W4A4 does not fit beside the other engines of this machine. It needs a share of at least 0.23, and 0.10 is left: 15.8 GiB too little. Instead take a smaller model (`serving models` lists what fits), or lower instance A to 0.67, where it is started and in `instanceA`, or run it alone (`instanceA: none`, and no other server).",
    ]);
  });

  it("gets it in a server of its own, and the other server keeps its image", async () => {
    const { repository, file } = await older(["v0.27.1", "v0.31.0"]);
    const before = serversOf(file).b;
    const use = [...FLOOR, file, "--server", "c", "--write"];
    const failed = await runServing(use, offline().env);
    expect([failed.code, failed.err]).toEqual([
      1,
      expect.stringContaining("Nothing was written. Run this again where Docker can pull it."),
    ]);
    const used = await runServing(use, docker(repository).env);
    expect(used.code).toBe(0);
    expect(used.out).toContain(`\n  for the new server c. ${FLOOR_WHY}\n`);
    const { b, c } = serversOf(file);
    expect(b).toEqual(before);
    expect(c).toMatchObject({
      image: `${repository}:v0.31.0@${digestOf("v0.31.0")}`,
      versions: { ...WELL, evidence: "read" },
      port: 8002,
    });
  });
});
