import { imageReference } from "@local-serving/machines/docker/imageReference";
import { readServerArguments } from "@local-serving/vllm/argv/serverArguments";
import * as z from "zod";
import { FLAGS } from "../../components/settings";
import { usualOf } from "../models/leastServer";

/** What vllm-project/recipes calls a DGX Spark. */
export const SPARK = "dgx_spark_gb10";

/** One DGX Spark, as taxonomy.yaml of that repository describes it. */
const profile = z.object({
  gpu_count: z.int().min(1),
  vram_gb: z.number().positive(),
});
export const taxonomy = z.object({ hardware_profiles: z.object({ [SPARK]: profile }) });
export type SparkProfile = z.output<typeof profile>;

const words = z.array(z.union([z.string(), z.number(), z.boolean()]).transform(String)).default([]);
const variables = z.record(z.string(), z.coerce.string()).default({});
const override = z
  .object({ extra_args: words, extra_env: variables, docker_image: z.unknown().optional() })
  .nullish();
/** What those of other hardware hold is nothing to us. */
const overrides = z.object({ [SPARK]: override, blackwell: override, nvidia: override }).nullish();
const tp = z.union([z.number(), z.record(z.string(), z.number())]).nullish();

const variant = z.object({
  model_id: z.string().optional(),
  vram_minimum_gb: z.number(),
  min_vllm_version: z.string().optional(),
  tp,
  extra_args: words,
  extra_env: variables,
  hardware_overrides: overrides,
});

/** The keys of one of its files that are read here; it has many more. */
export const recipeFile = z.object({
  meta: z.object({
    tasks: z.array(z.string()).default([]),
    hardware: z.record(z.string(), z.string()).nullish(),
  }),
  model: z.object({
    model_id: z.string(),
    min_vllm_version: z.string(),
    base_args: words,
    base_env: variables,
  }),
  features: z.record(z.string(), z.object({ args: words })).nullish(),
  opt_in_features: z.array(z.string()).nullish(),
  variants: z.record(z.string(), variant),
  hardware_overrides: overrides,
});
type RecipeFile = z.output<typeof recipeFile>;
type Variant = z.output<typeof variant>;

/** A value that an entry gives, by its path in our recipe. */
export interface TheirValue {
  readonly path: readonly [string] | readonly [string, string];
  readonly value: string | number | Readonly<Record<string, string>>;
}

/** What one variant of a file says of one DGX Spark. */
export interface SparkEntry {
  readonly id: string;
  readonly values: readonly TheirValue[];
  /**
   * What only a person adds, as it is written: options for `extraArgs`, code that comes with a model,
   * and variables whose value is the reader's own.
   */
  readonly leftOut: readonly string[];
  /** The version of vLLM that the model needs on any machine. */
  readonly modelFloor: string;
}

/** What is not taken of a file, and why. */
export interface SkippedEntry {
  readonly what: string;
  readonly why: string;
}

/** The entries of one file for one DGX Spark, and what is skipped. */
export function sparkEntries(
  file: RecipeFile,
  spark: SparkProfile,
): { readonly entries: readonly SparkEntry[]; readonly skipped: readonly SkippedEntry[] } {
  const { model_id: what } = file.model;
  const alone = (why: string) => ({ entries: [], skipped: [{ what, why }] });
  if (file.meta.tasks.includes("omni"))
    return alone("it makes pictures, video or sound, which no server here does");
  if (file.meta.hardware?.[SPARK] === "unsupported")
    return alone("the file says that it doesn't run on a DGX Spark yet");
  const own = Object.entries(file.variants).filter(([, each]) => each.hardware_overrides?.[SPARK]);
  if (own.length === 0)
    return alone("no variant has settings for a DGX Spark; only the file's text may have some");
  const read = own.map(([key, each]) => ({
    entry: entryOf(file, each),
    skip: { what: `${each.model_id ?? what} (variant ${key})`, why: whyNot(file, each, spark) },
  }));
  return {
    entries: read.flatMap(({ entry, skip }) => (skip.why === undefined ? [entry] : [])),
    skipped: read.flatMap(({ skip: { what, why } }) => (why === undefined ? [] : [{ what, why }])),
  };
}

/** Why one DGX Spark can't serve a variant; `undefined` if nothing is known against it. */
function whyNot(file: RecipeFile, of: Variant, spark: SparkProfile): string | undefined {
  const argv = argvOf(file, of);
  const { options } = readServerArguments(argv);
  if (argv.some((word) => word.startsWith("--diffusion-")))
    return "it is a diffusion model, for which no server here is planned";
  const gpus = [
    typeof of.tp === "number" ? of.tp : (of.tp?.[SPARK] ?? of.tp?.default ?? 1),
    ...["tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size"].map((name) =>
      Number(options.get(name)?.[0] ?? 1),
    ),
  ];
  const most = Math.max(...gpus);
  if (most > spark.gpu_count)
    return `it needs ${most} GPUs, and a DGX Spark has ${spark.gpu_count}`;
  if (of.vram_minimum_gb > spark.vram_gb)
    return `it needs ${of.vram_minimum_gb} GB of memory, and one DGX Spark has ${spark.vram_gb}`;
  return undefined;
}

/** The blocks of a file and a variant that count on a DGX Spark, in the order of its page. */
function blocksOf(file: RecipeFile, of: Variant) {
  const general = (all: RecipeFile["hardware_overrides"]) => all?.blackwell ?? all?.nvidia;
  const blocks = [
    of.hardware_overrides?.[SPARK],
    general(file.hardware_overrides),
    general(of.hardware_overrides),
  ];
  return blocks.flatMap((block) => block ?? []);
}

/** The arguments as the repository's own page makes them; what has to be chosen is left out. */
function argvOf(file: RecipeFile, of: Variant): string[] {
  const usual = Object.entries(file.features ?? {}).filter(
    ([key]) => file.opt_in_features?.includes(key) !== true,
  );
  return [
    ...file.model.base_args,
    ...of.extra_args,
    ...blocksOf(file, of).flatMap((block) => block.extra_args),
    ...usual.flatMap(([, { args }]) => args),
  ];
}

const flagNamed = (name: string) => FLAGS.find(({ flag }) => flag === `--${name}`);

/** Where a recipe of ours has what an option says. A switch is turned on by a person. */
function placeOf(name: string): TheirValue["path"] | undefined {
  const { setting, form, ofModel = "apart" } = flagNamed(name) ?? {};
  if (setting === undefined || form === "switch" || ofModel === "apart") return undefined;
  const [block = "", key = setting] = ofModel.split(".");
  return [block, key];
}

/** Whether an option turns on what every server here has unless its stack file says otherwise. */
const isUsual = (name: string, text: string) =>
  text === "on" && usualOf(flagNamed(name)?.setting ?? "") === true;

/** Images of vLLM's own releases, which need no key. */
const RELEASES = "vllm/vllm-openai";

function entryOf(file: RecipeFile, of: Variant): SparkEntry {
  const blocks = blocksOf(file, of);
  const options = [...readServerArguments(argvOf(file, of)).options].map(
    ([name, values]) => [name, values.map(String).join(" ")] as const,
  );
  const placed = options.flatMap(([name, text]): TheirValue[] => {
    const path = placeOf(name);
    const figure = Number(text);
    return path === undefined ? [] : [{ path, value: Number.isNaN(figure) ? text : figure }];
  });
  const others = options.filter(([name]) => placeOf(name) === undefined);
  const variables = [file.model.base_env, of.extra_env, ...blocks.map((each) => each.extra_env)];
  const named = Object.entries(Object.assign({}, ...variables) as Record<string, string>);
  // A value such as `$IFACE_NAME` is the reader's own.
  const known = named.filter(([, value]) => !value.includes("$"));
  const images = blocks.flatMap(({ docker_image: image }) =>
    typeof image === "string" ? (imageReference(image)?.repository ?? []) : [],
  );
  const image = images.filter((each) => each !== RELEASES).at(-1);
  return {
    id: of.model_id ?? file.model.model_id,
    values: [
      ...placed,
      ...(image === undefined ? [] : [{ path: ["image"] as const, value: image }]),
      ...(known.length === 0
        ? []
        : [{ path: ["settings", "environment"] as const, value: Object.fromEntries(known) }]),
    ],
    leftOut: [
      ...others.flatMap(([name, text]) =>
        isUsual(name, text) ? [] : [`--${name}${text === "on" ? "" : ` ${text}`}`],
      ),
      ...named.flatMap(([name, value]) => (value.includes("$") ? [`${name}=${value}`] : [])),
    ],
    modelFloor: of.min_vllm_version ?? file.model.min_vllm_version,
  };
}
