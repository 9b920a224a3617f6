import { defined } from "@local-serving/base/faults/defined";
import { describe, expect, it } from "vitest";
import { type Fit, fitModel, withModel } from "../../../cli/models/fit";
import { aloneIn, type Seat, seatFor } from "../../../cli/models/seat";
import { serverValues } from "../../../cli/models/serverValues";
import { graveWarnings } from "../../../cli/plan/memoryText";
import { readCatalogue, readRecipe } from "../../../components/catalogue/readCatalogue";
import type { Recipe } from "../../../components/catalogue/recipe";
import { readEvidence } from "../../../components/evidence/readEvidence";
import { plan } from "../../../components/plan/plan";
import { declaredResources } from "../../../components/program/machine/declaredResources";
import { crossFaults } from "../../../components/settings/crossFaults";
import { loadStackFile } from "../../../components/settings/load";
import { type StackSettings, stackSettings } from "../../../components/settings/stackSettings";
import { judge } from "../../../policies/judge";
import { DIGEST } from "../../fixtures/machine";

const project = process.cwd();
const recipes = readCatalogue(project);
/** The default stack: instance A has 0.45 of the machine. */
const beside: Seat = {
  settings: loadStackFile("Pulumi.dgx.yaml"),
  machine: "dgx",
  server: "b",
  project,
  leaves: [],
};
const alone = aloneIn(beside);

/** What each model's recipe comes to: beside instance A, and alone. */
const VERDICTS: Readonly<Record<string, readonly [beside: Fit["verdict"], alone: Fit["verdict"]]>> =
  {
    "cyankiwi/GLM-4.7-Flash-AWQ-4bit": ["perhaps", "perhaps"],
    "Inferact/Muse-Glimmer-30B-NVFP4-W4A4": ["perhaps", "yes"],
    "Intel/Qwen3.5-122B-A10B-int4-AutoRound": ["no", "perhaps"],
    "local-inference-lab/Qwen3.8-Flash-Next-NVFP4": ["no", "perhaps"],
    "mistralai/Mistral-Small-4-119B-2603-NVFP4": ["no", "perhaps"],
    ...Object.fromEntries(
      [
        ...["deepseek-ai/DeepSeek-V4-Flash-0731", "Intel/Qwen3.5-397B-A17B-int4-AutoRound"],
        ...[
          "nvidia/DeepSeek-V4-Flash-NVFP4",
          "nvidia/MiniMax-M2.7-NVFP4",
          "Qwen/Qwen3-235B-A22B-GPTQ-Int4",
        ],
        "local-inference-lab/GLM-5.3-Flash-NVFP4",
        ...[
          "saricles/MiniMax-M2.7-NVFP4-GB10",
          "stepfun-ai/Step-3.7-Flash-FP8",
          "stepfun-ai/Step-3.7-Flash-NVFP4",
        ],
      ].map((needsTwo) => [needsTwo, ["no", "no"]] as const),
    ),
    "nvidia/Gemma-4-26B-A4B-NVFP4": ["perhaps", "yes"],
    "nvidia/Gemma-4-31B-IT-NVFP4": ["perhaps", "yes"],
    "nvidia/Llama-3.3-70B-NVFP4": ["perhaps", "yes"],
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4": ["perhaps", "yes"],
    "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4": ["no", "perhaps"],
    "nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4": ["perhaps", "yes"],
    "nvidia/Qwen3.5-122B-A10B-NVFP4": ["no", "perhaps"],
    "nvidia/Qwen3.6-27B-NVFP4": ["perhaps", "perhaps"],
    "nvidia/Qwen3.6-35B-A3B-NVFP4": ["yes", "yes"],
    "nvidia/Qwen3.8-27B-NVFP4": ["perhaps", "yes"],
    "openai/gpt-oss-120b": ["no", "perhaps"],
    "openai/gpt-oss-20b": ["perhaps", "perhaps"],
    "Qwen/Qwen3-Embedding-0.6B": ["no", "perhaps"],
    "Qwen/Qwen3-Reranker-0.6B": ["no", "perhaps"],
    "Qwen/Qwen3-VL-Embedding-8B": ["no", "perhaps"],
    "Qwen/Qwen3.6-35B-A3B-FP8": ["perhaps", "yes"],
    "saricles/Qwen3-Coder-Next-NVFP4-GB10": ["perhaps", "perhaps"],
  };

/** The same of those that need two machines, on two, with the reasons against them. */
const ON_TWO: Readonly<Record<string, readonly [Fit["verdict"], readonly string[]]>> = {
  "deepseek-ai/DeepSeek-V4-Flash-0731": ["perhaps", []],
  "Intel/Qwen3.5-397B-A17B-int4-AutoRound": ["perhaps", []],
  "local-inference-lab/GLM-5.3-Flash-NVFP4": ["perhaps", []],
  "nvidia/DeepSeek-V4-Flash-NVFP4": ["perhaps", []],
  "nvidia/MiniMax-M2.7-NVFP4": ["perhaps", []],
  "Qwen/Qwen3-235B-A22B-GPTQ-Int4": ["yes", []],
  "saricles/MiniMax-M2.7-NVFP4-GB10": ["yes", []],
  "stepfun-ai/Step-3.7-Flash-FP8": ["perhaps", []],
  "stepfun-ai/Step-3.7-Flash-NVFP4": ["yes", []],
};

/** Reasons against settings: policies, and starts that the plan doesn't believe in. */
function against(settings: StackSettings): string[] {
  const made = plan(settings, readEvidence(settings, project));
  const refused = judge(declaredResources(made)).filter(({ verdict }) => verdict === "refused");
  return [...refused.map(({ message }) => message), ...made.machines.flatMap(graveWarnings)];
}

/** The seat with the image that its model needs, as `serving pin` would read it. */
function withRead(seat: Seat, needed: string | undefined): Seat {
  if (needed === undefined) return seat;
  const image = `${needed}@${DIGEST}`;
  const versions = { vllm: "0.30.0", transformers: "5.10.4" };
  const reading = { image, tag: "", digest: DIGEST, platformDigest: DIGEST, versions };
  return { ...seat, image: { image, reading } };
}

describe("every entry of the catalogue, planned", () => {
  it("has its expected verdict below", () => {
    expect(recipes.map(({ id }) => id).sort()).toEqual(Object.keys(VERDICTS).sort());
  });

  it.each(recipes.map((recipe) => [recipe.id, recipe] as const))(
    "%s, beside instance A and alone",
    (id, recipe) => {
      const there = seatFor(recipe, beside);
      const found = [there, aloneIn(there)].map((seat) => [seat, fitModel(recipe, seat)] as const);
      const verdicts = found.map(([, { verdict }]) => verdict);
      expect(verdicts).toEqual(VERDICTS[id]);
      for (const [seat, { verdict, values, reasons, image }] of found) {
        if (verdict === "no") expect(reasons.join()).not.toBe("");
        else expect(against(withModel(withRead(seat, image), values))).toEqual([]);
      }
    },
  );
});

const link = (last: number) => ({
  interface: "enp1s0f1np1",
  address: `192.168.100.${last}`,
  hcas: [],
});

/**
 * The same stack alone on its machine, with another image where one is named, and a second machine
 * that is linked to it.
 */
function linkedTo(image?: string, second: Record<string, unknown> = {}): Seat {
  const { machines } = stackSettings.parse({
    machines: {
      dgx2: {
        totalGiB: 121.63,
        instanceA: "none",
        dockerHost: "ssh://me@dgx2",
        link: link(2),
        ...second,
      },
    },
  });
  const { dgx } = structuredClone(alone.settings.machines);
  const b = dgx?.inferenceServers.b;
  if (dgx === undefined || b === undefined) throw new Error("no server b");
  const versions = { ...b.versions, digest: DIGEST };
  if (image !== undefined) Object.assign(b, { image: `${image}@${DIGEST}`, versions });
  return { ...alone, settings: { machines: { dgx: { ...dgx, link: link(1) }, ...machines } } };
}

describe("models that need two machines, on two that are linked", () => {
  const several = recipes
    .filter(({ machines }) => machines > 1)
    .map((recipe) => [recipe.id, recipe] as const);

  it.each(several)("%s", (id, recipe) => {
    const seat = linkedTo(recipe.image);
    const { verdict, values, reasons, kv } = fitModel(recipe, seat);
    expect([id, verdict, reasons]).toEqual([id, ...(ON_TWO[id] ?? [])]);
    // The image of today takes nothing from that: `use` proposes the other one.
    const today = fitModel(recipe, linkedTo());
    expect(today).toMatchObject({ verdict, values, reasons, ...defined({ image: recipe.image }) });
    if (verdict === "no") return;
    expect(values.find(({ path }) => path[0] === "nodes")?.value).toEqual(["dgx", "dgx2"]);
    expect(values.find(({ path }) => path[0] === "tensorParallelSize")?.value).toBe(2);
    expect(kv?.ranks).toBe(id === "local-inference-lab/GLM-5.3-Flash-NVFP4" ? undefined : 2);
    expect(crossFaults(withModel(seat, values))).toEqual([]);
    expect(against(withModel(seat, values))).toEqual([]);
  });
});

it("what the other machine has no room for, is not promised on both", () => {
  const [recipe] = recipes.filter(({ id }) => id === "Qwen/Qwen3-235B-A22B-GPTQ-Int4");
  if (recipe === undefined) throw new Error("no such recipe");
  const { verdict, reasons } = fitModel(recipe, linkedTo(undefined, { otherGpuMemoryGiB: 66 }));
  expect([verdict, reasons]).toEqual([
    "no",
    ["It needs a share of at least 0.51, and 0.41 is left: 12.2 GiB too little."],
  ]);
});

/** The best and the least that the plan of a published start says. */
function planOf(recipe: Recipe, seat: Seat, share: number, window?: number) {
  const values = serverValues(recipe, { beside: false }).map((each) =>
    each.path[0] === "gpuMemoryUtilization"
      ? { ...each, value: share }
      : each.path[0] === "maxModelLen" && window !== undefined
        ? { ...each, value: window }
        : each,
  );
  const settings = withModel(seat, values);
  const [machine] = plan(settings, readEvidence(settings, project)).machines;
  return { settings, kv: Object.values(machine?.kv ?? {})[0] ?? null };
}

const on = (totalGiB: number, other?: number): Seat => {
  const { dgx } = alone.settings.machines;
  if (dgx === undefined) throw new Error("no machine dgx");
  const instanceA =
    other === undefined
      ? "none"
      : { port: 8000, listen: "0.0.0.0", readyWithinMinutes: 30, gpuMemoryUtilization: other };
  return { ...alone, settings: { machines: { dgx: { ...dgx, totalGiB, instanceA } } } };
};

it("no recipe for one machine names more than what is chosen without one", () => {
  const single = recipes.filter(({ machines }) => machines === 1);
  expect(Math.max(...single.map(({ share }) => share.alone ?? 0))).toBe(0.8);
});

describe("published starts", () => {
  const worked = recipes
    .filter(({ machines, image }) => machines === 1 && image === undefined)
    .flatMap((recipe) => [
      ...recipe.sources
        .filter(({ of, basis }) => of.includes("share.alone") && basis === "published")
        .map(() => ({
          recipe,
          share: recipe.share.alone ?? 0,
          maxModelLen: undefined,
          besideShare: undefined,
        })),
      ...recipe.starts
        .filter(({ works }) => works)
        .map(({ share, maxModelLen, besideShare }) => ({
          recipe,
          share,
          maxModelLen,
          besideShare,
        })),
    ])
    .map((start) => [start.recipe.servedModelName, start.share, start] as const);

  it.each(worked)(
    "%s at %d worked, and is not refused",
    (_, share, { recipe, maxModelLen, besideShare }) => {
      expect(against(planOf(recipe, on(121.69, besideShare), share, maxModelLen).settings)).toEqual(
        [],
      );
    },
  );

  it("Nemotron-3-Super at 0.72 has the log's 17.9 windows of 131,072 tokens", () => {
    const recipe = readRecipe(project, "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4");
    if (recipe === undefined) throw new Error("no recipe");
    const { settings } = planOf(recipe, on(121.69), 0.72, 131072);
    const server = settings.machines.dgx?.inferenceServers.b;
    if (server === undefined) throw new Error("no server");
    const chargedGiB = 0.72 * 121.69 - 14.79;
    const measured = { chargedGiB, kvTokens: 1, maxConcurrency: 1, at: "2026-08-27" };
    Object.assign(server, { measured: { ...measured, image: server.image.split("@")[1] } });
    const { kv } = plan(settings, readEvidence(settings, project)).machines[0] ?? {};
    expect(Object.values(kv ?? {})[0]?.maxConcurrency).toBeCloseTo(17.9, 1);
  });

  it("an image that is too old for a model, whose start failed, gives way to another", () => {
    const [recipe] = recipes.filter(({ starts }) => starts.some(({ works }) => !works));
    const failed = recipe?.starts.find(({ works }) => !works);
    const server = alone.settings.machines.dgx?.inferenceServers.b;
    if (recipe === undefined || server?.versions === undefined) throw new Error("no failed start");
    const old = structuredClone(alone);
    const versions = { ...server.versions, vllm: failed?.vllm, digest: DIGEST };
    Object.assign(old.settings.machines.dgx?.inferenceServers.b ?? {}, {
      image: `vllm/vllm-openai@${DIGEST}`,
      versions,
    });
    const { verdict, values, reasons } = fitModel(recipe, alone);
    const image = "vllm/vllm-openai:TAG";
    expect(fitModel(recipe, old)).toMatchObject({ verdict, values, reasons, image });
  });
});
