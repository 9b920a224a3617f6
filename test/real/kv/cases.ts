import { type KvEngineSettings, kvPlan, modelShape } from "@local-serving/kv";
import fc from "fast-check";
import { FAMILIES, type Family } from "./families";
import type { Config } from "./parts";

export interface Case {
  readonly config: Config;
  readonly engine: KvEngineSettings;
  readonly availableBytes: number;
  /**
   * What the ranks of an engine over several machines have, where it isn't the same; the least is
   * `availableBytes`.
   */
  readonly availableOfRanks?: readonly number[];
}

/** Each family gets as many perturbed configs; the same ones in every run. */
export const CONFIGS_OF_A_FAMILY = 12;
/** And so many of these once more for an engine of two ranks. */
export const CONFIGS_OF_RANKS = 4;
const SEED = 20_260_727;

const FORMATS = [
  ...(["auto", "bfloat16", "float16", "fp8", "fp8_e4m3"] as const),
  ...(["fp8_e5m2", "fp8_per_token_head", "int8_per_token_head", "int4_per_token_head"] as const),
] as const;

function engines({ drafts, formats = FORMATS }: Family): fc.Arbitrary<KvEngineSettings> {
  return fc.record({
    kvCacheDtype: fc.constantFrom(...formats),
    maxModelLen: fc.oneof(
      fc.integer({ min: 1, max: 262_144 }),
      fc.constantFrom(16, 4096, 32_768, 262_144),
    ),
    maxNumSeqs: fc.oneof(fc.integer({ min: 1, max: 16 }), fc.integer({ min: 1, max: 256 })),
    maxNumBatchedTokens: fc.constantFrom(512, 1000, 2048, 8192),
    prefixCaching: fc.boolean(),
    draftTokens: fc.constantFrom(...(drafts ? [0, 1, 2, 4] : [0])),
    mambaSsmCacheDtype: fc.constantFrom("auto", "auto", "float32", "bfloat16"),
    gdnPrefillBackend: fc.constantFrom("auto", "triton"),
  });
}

/**
 * Any memory, or by our plan exactly what one request needs, or one byte less: there the fit check
 * has its edge.
 */
const memories = fc.oneof(
  fc.constantFrom("enough", "one byte less"),
  fc.integer({ min: 2 ** 20, max: 2 ** 36 }),
);

/** A half format other than the model's own is refused from vLLM 0.33 on. */
function ownHalf(config: Config, { kvCacheDtype, ...engine }: KvEngineSettings): KvEngineSettings {
  const other =
    (kvCacheDtype === "float16" || kvCacheDtype === "bfloat16") && kvCacheDtype !== dtypeOf(config);
  return { ...engine, kvCacheDtype: other ? "auto" : kvCacheDtype };
}

function dtypeOf({ torch_dtype, text_config }: Config): unknown {
  return typeof text_config === "object" && text_config !== null && "torch_dtype" in text_config
    ? text_config.torch_dtype
    : torch_dtype;
}

function caseOf(config: Config, sampled: KvEngineSettings, memory: string | number): Case {
  const engine = ownHalf(config, sampled);
  if (typeof memory === "number") return { config, engine, availableBytes: memory };
  const { blocksPerRequest, bytesPerBlock } = kvPlan(modelShape(config), engine, 0);
  const enough = (blocksPerRequest + 1) * bytesPerBlock;
  return { config, engine, availableBytes: memory === "enough" ? enough : enough - 1 };
}

/**
 * Whether our plan has a config for two ranks at all; `REFUSALS` asks vLLM about those that can't
 * be divided.
 */
function divides({ config, engine }: Case): boolean {
  const plan = () => kvPlan(modelShape(config), { ...engine, tensorParallelSize: 2 }, 0);
  try {
    return plan().bytesPerBlock > 0;
  } catch {
    return false;
  }
}

/**
 * The same model as far as its cache goes: other sizes beside it, other numbers, other names in our
 * eyes.
 */
function elsewhereDifferent(config: Config): Config {
  const others = {
    vocab_size: 2048,
    rope_theta: 5_000_000,
    intermediate_size: 512,
    rms_norm_eps: 1e-5,
  };
  const text = config.text_config;
  return typeof text === "object"
    ? { ...config, text_config: { ...text, ...others } }
    : { ...config, ...others };
}

/** The perturbed configs of every family, each with an engine and a memory. */
export const CASES_OF_FAMILIES = FAMILIES.map((family) => ({
  name: family.name,
  only: family.only,
  cases: fc
    .sample(fc.tuple(family.configs, engines(family), memories), {
      numRuns: CONFIGS_OF_A_FAMILY,
      seed: SEED,
    })
    .map((sample) => caseOf(...sample)),
}));
/** Of every family some of these, each on an engine of two ranks. */
export const CASES_OF_RANKS = CASES_OF_FAMILIES.map(({ cases, ...family }) => ({
  ...family,
  cases: cases
    .filter(divides)
    .slice(0, CONFIGS_OF_RANKS)
    .map(({ config, engine, availableBytes }, index) =>
      caseOf(config, { ...engine, tensorParallelSize: 2 }, index === 0 ? "enough" : availableBytes),
    ),
}));

/** Of each family one case, and the same with everything else different. */
export const PAIRS = CASES_OF_FAMILIES.flatMap(({ name, cases: [first] }) =>
  first === undefined
    ? []
    : [{ name, first, other: { ...first, config: elsewhereDifferent(first.config) } }],
);
