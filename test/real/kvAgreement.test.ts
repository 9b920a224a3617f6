import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { KV_ENGINE_DEFAULTS, type KvEngineSettings, kvPlan, modelShape } from "../../components/plan/kv";
import { runServing } from "../operate/runServing";
import { type Case, type Config, FAMILIES, type Family } from "./kvConfigs";
import { ODD_CASES, REFUSALS, UNKNOWN } from "./kvOddCases";
import { runToEnd } from "./process";
import { title } from "./programs";

const { vllm } = inject("programs");

/** Each family gets as many perturbed configs; the same ones in every run. */
const CONFIGS_OF_A_FAMILY = 12;
const SEED = 20_260_727;

const VERSION = "0.30.0";
/** On two cores that others use too. */
const SECONDS = 900;

/** vLLM's figures of a case, as far as it came, and its words where it refused. */
type Answer = Readonly<Record<string, number | boolean>> & { readonly refused?: string };

const FEWER_FORMATS = ["auto", "bfloat16", "float16", "fp8", "fp8_e4m3"] as const;
const FORMATS = [
  ...FEWER_FORMATS,
  ...(["fp8_e5m2", "fp8_per_token_head", "int8_per_token_head", "int4_per_token_head"] as const),
] as const;

function engines({ drafts, fewerFormats }: Family): fc.Arbitrary<KvEngineSettings> {
  return fc.record({
    kvCacheDtype: fc.constantFrom(...(fewerFormats ? FEWER_FORMATS : FORMATS)),
    maxModelLen: fc.oneof(fc.integer({ min: 1, max: 262_144 }), fc.constantFrom(16, 4096, 32_768, 262_144)),
    maxNumSeqs: fc.oneof(fc.integer({ min: 1, max: 16 }), fc.integer({ min: 1, max: 256 })),
    maxNumBatchedTokens: fc.constantFrom(512, 1000, 2048, 8192),
    prefixCaching: fc.boolean(),
    draftTokens: fc.constantFrom(...(drafts ? [0, 1, 2, 4] : [0])),
    mambaSsmCacheDtype: fc.constantFrom("auto", "auto", "float32", "bfloat16"),
    gdnPrefillBackend: fc.constantFrom("auto", "triton"),
  });
}

/** Any memory, or by our plan exactly what one request needs, or one byte less: there the fit check has its edge. */
const memories = fc.oneof(
  fc.constantFrom("enough", "one byte less"),
  fc.integer({ min: 2 ** 20, max: 2 ** 36 }),
);

function caseOf(config: Config, engine: KvEngineSettings, memory: string | number): Case {
  if (typeof memory === "number") return { config, engine, availableBytes: memory };
  const { blocksPerRequest, bytesPerBlock } = kvPlan(modelShape(config), engine, 0);
  const enough = (blocksPerRequest + 1) * bytesPerBlock;
  return { config, engine, availableBytes: memory === "enough" ? enough : enough - 1 };
}

/** The same model as far as its cache goes: other sizes beside it, other numbers, other names in our eyes. */
function elsewhereDifferent(config: Config): Config {
  const others = { vocab_size: 2048, rope_theta: 5_000_000, intermediate_size: 512, rms_norm_eps: 1e-5 };
  const text = config.text_config;
  return typeof text === "object"
    ? { ...config, text_config: { ...text, ...others } }
    : { ...config, ...others };
}

const families = FAMILIES.map((family) => ({
  name: family.name,
  cases: fc
    .sample(fc.tuple(family.configs, engines(family), memories), { numRuns: CONFIGS_OF_A_FAMILY, seed: SEED })
    .map((sample) => caseOf(...sample)),
}));
const pairs = families.flatMap(({ name, cases: [first] }) =>
  first === undefined ? [] : [{ name, first, other: { ...first, config: elsewhereDifferent(first.config) } }],
);

function byName<T extends { readonly name: string }>(rows: readonly T[]): [string, T][] {
  return rows.map((row) => [row.name, row]);
}

describe.skipIf("missing" in vllm)(title("KV plans of vLLM 0.30.0's own classes", vllm), () => {
  const folder = mkdtempSync(join(tmpdir(), "kv-agreement-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  let answers: ReadonlyMap<Case, Answer>;

  beforeAll(async () => {
    answers = await askVllm(folder, [
      ...families.flatMap(({ cases }) => cases),
      ...pairs.map(({ other }) => other),
      ...[...ODD_CASES, ...UNKNOWN, ...REFUSALS].map((each) => each.asked),
    ]);
  }, SECONDS * 1000);

  const answerTo = (asked: Case): Answer => {
    const answer = answers.get(asked);
    if (answer === undefined) throw new Error("vLLM was not asked this");
    return answer;
  };

  it("are of the version that ours are for unless another is named", () => {
    expect(KV_ENGINE_DEFAULTS.vllmVersion).toBe(VERSION);
  });

  it.each(byName(families))("%s: ours are the same", async (_, { cases }) => {
    expect(cases).toHaveLength(CONFIGS_OF_A_FAMILY);
    for (const each of cases) expect(await ours(folder, each)).toEqual(figuresOf(answerTo(each), each));
  });

  it.each(byName(ODD_CASES))("%s: ours is the same", async (_, { asked }) => {
    expect(await ours(folder, asked)).toEqual(figuresOf(answerTo(asked), asked));
  });

  it.each(byName(pairs))("%s: what no cache depends on changes neither plan", async (_, { first, other }) => {
    expect(answerTo(other)).toEqual(answerTo(first));
    const renamed = { ...other.config, architectures: ["Another"], model_type: "another" };
    const plan = await servingKv(folder, first);
    expect(await servingKv(folder, { ...other, config: renamed })).toEqual(plan);
  });

  it.each(byName(UNKNOWN))(
    "%s: vLLM plans it, and ours says that it is unknown",
    async (_, { asked, field }) => {
      expect(answerTo(asked).fits).toBe(true);
      const { fits, issues } = await servingKv(folder, asked);
      expect([fits, issues]).toEqual([
        null,
        [expect.objectContaining({ path: field, code: "unknown_architecture" })],
      ]);
    },
  );

  it.each(byName(REFUSALS))("%s: refused, and ours says so", async (_, { asked, words, ours: said }) => {
    expect(answerTo(asked).refused).toContain(words);
    const plan = await servingKv(folder, asked);
    const faults = (plan.issues ?? plan.problems) as { code: string; severity: string }[];
    expect(faults.map(({ code, severity }) => `${severity} ${code}`)).toEqual([said]);
  });

  it("are not all alike: what fits, what doesn't, what has too many sequences", () => {
    const all = families.flatMap(({ cases }) => cases.map(answerTo));
    const count = (fits: boolean, starts: boolean) =>
      all.filter((each) => each.fits === fits && each.starts === starts).length;
    expect(all).toHaveLength(FAMILIES.length * CONFIGS_OF_A_FAMILY);
    expect(count(true, true)).toBeGreaterThan(80);
    expect(count(false, false)).toBeGreaterThan(40);
    expect(count(true, false)).toBeGreaterThan(0);
  });
});

/** vLLM's answers to the cases, from one process. */
async function askVllm(folder: string, cases: readonly Case[]): Promise<Map<Case, Answer>> {
  if ("missing" in vllm) throw new Error(vllm.missing);
  const file = join(folder, "cases.json");
  const asked = cases.map((each) => ({ ...each, engine: vllmArguments(each.engine) }));
  writeFileSync(file, JSON.stringify(asked));
  const ran = await runToEnd(vllm.path, [join(__dirname, "vllmKvPlans.py"), file], {
    env: { PATH: process.env.PATH ?? "", HOME: folder, TMPDIR: folder },
    cwd: folder,
    seconds: SECONDS,
  });
  const said = ran.out.split("PLANS")[1];
  if (said === undefined) throw new Error(`vLLM made no plans (exit ${ran.code}):\n${ran.err.slice(-4000)}`);
  const { version, plans } = JSON.parse(said) as { version: string; plans: Answer[] };
  expect([version, plans.length]).toEqual([VERSION, cases.length]);
  return new Map(cases.map((each, index) => [each, plans[index] ?? {}]));
}

/** The same settings as vLLM's `EngineArgs` name them. */
function vllmArguments(engine: KvEngineSettings): Record<string, unknown> {
  const { draftTokens = 0 } = engine;
  return {
    kv_cache_dtype: engine.kvCacheDtype ?? "auto",
    max_model_len: engine.maxModelLen,
    max_num_seqs: engine.maxNumSeqs,
    max_num_batched_tokens: engine.maxNumBatchedTokens,
    enable_prefix_caching: engine.prefixCaching ?? true,
    mamba_ssm_cache_dtype: engine.mambaSsmCacheDtype ?? "auto",
    gdn_prefill_backend: engine.gdnPrefillBackend ?? "auto",
    ...(draftTokens > 0
      ? { speculative_config: { method: "mtp", num_speculative_tokens: draftTokens } }
      : {}),
  };
}

const FIGURES = [
  "fits",
  "starts",
  "blockSize",
  "bytesPerBlock",
  "blocksPerRequest",
  "bytesPerRequest",
] as const;
const FIGURES_OF_A_POOL = ["numBlocks", "tokens", "maxConcurrency"] as const;

/** What vLLM planned, its refusal told by the code that ours has for it. */
function figuresOf({ refused, ...answer }: Answer, asked: Case): Record<string, unknown> {
  if (answer.fits === undefined)
    throw new Error(`vLLM can't have this case: ${refused}\n${JSON.stringify(asked)}`);
  const longest = /estimated maximum model length is (\d+)/.exec(refused ?? "")?.[1];
  return {
    ...answer,
    ...(refused === undefined ? {} : { refused: codeOf(refused), longest: Number(longest ?? 0) }),
  };
}

function codeOf(words: string): string {
  if (words.startsWith("No available memory")) return "no_room";
  if (words.startsWith("To serve at least one request")) return "request_does_not_fit";
  return words.startsWith("max_num_seqs") ? "too_many_sequences" : words;
}

/** The same of `serving kv`. */
async function ours(folder: string, asked: Case): Promise<Record<string, unknown>> {
  const plan = await servingKv(folder, asked);
  const problems = plan.problems as { code: string; severity: string }[];
  const refused = problems.find(({ severity }) => severity === "error")?.code;
  return {
    ...pick(plan, plan.fits ? [...FIGURES, ...FIGURES_OF_A_POOL] : FIGURES),
    ...(refused === undefined
      ? {}
      : { refused, longest: refused === "request_does_not_fit" ? plan.largestMaxModelLen : 0 }),
  };
}

function pick(plan: Record<string, unknown>, keys: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(keys.map((key) => [key, plan[key]]));
}

async function servingKv(folder: string, asked: Case): Promise<Record<string, unknown>> {
  const { config, engine, availableBytes } = asked;
  const file = join(folder, "config.json");
  writeFileSync(file, JSON.stringify(config));
  const { out, err } = await runServing([
    ...["kv", "--config", file, "--available", String(availableBytes), "--vllm-version", VERSION],
    ...["--kv-cache-dtype", engine.kvCacheDtype ?? "auto", "--max-model-len", String(engine.maxModelLen)],
    ...["--max-num-seqs", String(engine.maxNumSeqs), "--drafts", String(engine.draftTokens ?? 0)],
    ...["--max-num-batched-tokens", String(engine.maxNumBatchedTokens)],
    ...["--mamba-ssm-cache-dtype", engine.mambaSsmCacheDtype ?? "auto"],
    ...["--gdn-prefill-backend", engine.gdnPrefillBackend ?? "auto"],
    ...(engine.prefixCaching === false ? ["--no-prefix-caching"] : []),
    ...["--format", "json"],
  ]);
  if (out === "") throw new Error(err);
  return JSON.parse(out) as Record<string, unknown>;
}
