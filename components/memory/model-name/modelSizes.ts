/** What a family says of its models that no word of their names does. */
interface Family {
  readonly stem: RegExp;
  /** All parameters in billions, of models whose names have no number of them. */
  readonly billions?: number;
  /** Bits of a weight as the family's own makers publish it, where that isn't 16. */
  readonly bits?: number;
  /** Where its size is from, if not from `RECIPES`. */
  readonly source?: string;
}

/** Where the sizes are from: `parameter_count` and `precision` of its files, 2026-08-21. */
const RECIPES = "vllm-project/recipes 8959cf64";

/** As its makers and those who serve it write it, 2026-11-30. */
const PUBLISHED = "its published size";

/** 8 bits, and 4 with a scale of 8 bits for 32 weights or of 16 for 128. */
const [FP8, MXFP4, INT4] = [8, 4.25, 4.125];

/** Families whose names have no number of parameters. Figures: `RECIPES`, or `PUBLISHED`. */
const UNNUMBERED: readonly Family[] = [
  { stem: /^devstral-small-25\d\d/, billions: 24, source: PUBLISHED },
  { stem: /^magistral-small-25\d\d/, billions: 24, source: PUBLISHED },
  { stem: /^mistral-small-instruct-2409/, billions: 22, source: PUBLISHED },
  { stem: /^mistral-large-instruct-24\d\d/, billions: 123, source: PUBLISHED },
  { stem: /^pixtral-large-instruct-24\d\d/, billions: 124, source: PUBLISHED },
  { stem: /^mistral-nemo/, billions: 12, source: PUBLISHED },
  { stem: /^glm-4\.5-air/, billions: 106, source: PUBLISHED },
  { stem: /^phi-4(?:-reasoning(?:-plus)?)?/, billions: 14.7, source: PUBLISHED },
  { stem: /^phi-3\.5-mini/, billions: 3.8, source: PUBLISHED },
  { stem: /^phi-3-mini-(?:4|128)k/, billions: 3.8, source: PUBLISHED },
  { stem: /^phi-3-medium-(?:4|128)k/, billions: 14, source: PUBLISHED },
  { stem: /^granite-4\.0-h-small/, billions: 32.2, source: PUBLISHED },
  { stem: /^granite-4\.0-h-tiny/, billions: 7, source: PUBLISHED },
  { stem: /^granite-4\.0-(?:h-)?micro/, billions: 3, source: PUBLISHED },
  { stem: /^(?:c4ai-)?command-a-03-2025/, billions: 111, source: PUBLISHED },
  { stem: /^(?:c4ai-)?command-r-plus(?:-08-2024)?/, billions: 104, source: PUBLISHED },
  { stem: /^(?:ai21-)?jamba-mini-1\.\d/, billions: 52, source: PUBLISHED },
  { stem: /^(?:ai21-)?jamba-large-1\.\d/, billions: 398, source: PUBLISHED },
  { stem: /^deepseek-(?:coder-)?v2-lite/, billions: 15.7, source: PUBLISHED },
  { stem: /^deepseek-(?:v2\.5(?:-1210)?|coder-v2)/, billions: 236, source: PUBLISHED },
  { stem: /^deepseek-(?:v3(?:\.\d)?|r1)/, billions: 671, bits: FP8 },
  { stem: /^deepseek-v4-flash/, billions: 284, bits: MXFP4 },
  { stem: /^deepseek-v4-pro/, billions: 1600, bits: MXFP4 },
  { stem: /^kimi-k2-instruct/, billions: 1000, bits: FP8 },
  { stem: /^kimi-k2(?:-thinking|\.[567](?:-code)?)/, billions: 1000, bits: INT4 },
  { stem: /^kimi-k3/, billions: 2800, bits: MXFP4 },
  { stem: /^minimax-m2(?:\.\d)?/, billions: 230, bits: FP8 },
  { stem: /^minimax-m3/, billions: 427 },
  { stem: /^mimo-v2-flash/, billions: 309, bits: FP8 },
  { stem: /^mimo-v2\.5/, billions: 311, bits: FP8 },
  { stem: /^mimo-v2\.5-pro/, billions: 1000, bits: FP8 },
  { stem: /^glm-4\.[567]/, billions: 357 },
  { stem: /^glm-4\.[56]v/, billions: 107 },
  { stem: /^ling-2\.6-flash/, billions: 104 },
  { stem: /^ling-3\.0-flash/, billions: 124 },
  { stem: /^laguna-m\.1/, billions: 225 },
  { stem: /^laguna-s-2\.1/, billions: 118 },
  { stem: /^laguna-xs[-.]2(?:\.1)?/, billions: 33 },
  { stem: /^inkling-small/, billions: 276 },
  { stem: /^inkling/, billions: 975 },
  { stem: /^dots3-note-prev/, billions: 288 },
  { stem: /^intern-s2-preview/, billions: 36 },
  { stem: /^gemma-4-e2b/, billions: 5 },
  { stem: /^gemma-4-e4b/, billions: 8 },
  { stem: /^phi-4-mini/, billions: 4 },
  { stem: /^glm-5(?:\.[12])?/, billions: 743 },
  { stem: /^step-3\.[57]-flash/, billions: 196 },
  { stem: /^hunyuan-a13b/, billions: 80 },
  { stem: /^hy3/, billions: 295 },
  { stem: /^intern-s1/, billions: 241 },
  { stem: /^trinity-large/, billions: 398 },
  { stem: /^llama-4-scout-17b-16e/, billions: 109 },
  // models/saricles--Qwen3-Coder-Next-NVFP4-GB10 has its source.
  { stem: /^qwen3-coder-next/, billions: 79.7 },
];

/** Families that are published with fewer than 16 bits although no word of their names says so. */
const FEWER_BITS: readonly Family[] = [
  // MXFP4, of which 120b are 116.8 billion: 61 GB (models/openai--gpt-oss-120b).
  { stem: /gpt-oss/, bits: 4 },
  // Mistral AI publishes its models of one name in 8 bits since the end of 2025; before, their names
  // have an earlier month, or a version such as v0.3.
  {
    stem: /^(?:leanst|pixt|codest|voxt|magist|devst|minist|mist)ral(?!.*-(?:v0\.\d|2[34]\d\d|250\d|251[01])(?!\d))/,
    bits: FP8,
  },
  { stem: /deepseek-(?:v[3-9]|r1(?!-distill))/, bits: MXFP4 },
  { stem: /kimi-k[2-9]|mimo-v|minimax-m2/, bits: INT4 },
  { stem: /^(?:ling|ring)-\d\.\d/, bits: FP8 },
];

/** Words that may follow a family's name without making another model of it. */
const SAME_MODEL =
  /^(?:\d{3,6}|v\d|instruct|thinking|base|chat|exp|speciale|terminus|preview|hf|it|mtp|gb10|dynamic|block|kv|dspark|ct|unsloth|bnb|bitsandbytes|autoawq|sym|asym|g\d{2,3}|abliterated|(?:nv|mx)?fp\d+|bf16|awq|gptq|autoround|int\d|[2-8]bit|w\d+a\d+|quantized\.w\d+a\d+|mixed|gguf|latest)$/;

/** Published sizes are rounded: 1T of 1026 billion, 357B of 355. */
const ROUNDED = 0.965;

/** What a family tells of a model's weights. */
interface OwnSizes {
  /** All parameters in billions as they were published, and the least that this stands for. */
  readonly billions?: number;
  readonly least?: number;
  readonly bits?: number;
  readonly source?: string;
}

/**
 * What is known of a model's weights by its family alone; `undefined` where it is none of a known
 * family, or a word makes another model of it.
 *
 * @param name an id behind its organisation, in small letters
 * @param hasNumber whether a number of parameters stands in it
 */
export function ownSizes(name: string, hasNumber: boolean): OwnSizes | undefined {
  const known = UNNUMBERED.find(({ stem }) => {
    const [found] = stem.exec(name) ?? [];
    const rest = found === undefined ? "" : name.slice(found.length).replace(/:.*$/, "");
    const words = rest.split(/[-_]/).filter(Boolean);
    return (
      found !== undefined && /^(?:$|[-_:])/.test(rest) && words.every((one) => SAME_MODEL.test(one))
    );
  });
  if (known?.billions !== undefined) {
    const { billions, bits, source = RECIPES } = known;
    return {
      billions,
      least: billions * ROUNDED,
      source,
      ...(bits === undefined ? {} : { bits }),
    };
  }
  const fewer = FEWER_BITS.find(({ stem }) => stem.test(name));
  return hasNumber ? fewer : undefined;
}
