import { IMAGE_REFERENCE } from "@local-serving/machines/docker/imageReference";
import * as z from "zod";
import { gibibytes, gigabytes, servedName, textMatching, utilization } from "../planned/fields";
import {
  FLAGS,
  type InferenceServerSettings,
  inferenceServer,
  modelSettings,
  type RecipeSetting,
} from "../settings";

const { shape: server } = inferenceServer;

type Server = InferenceServerSettings;
type ModelSettings = { readonly [Key in RecipeSetting]: z.ZodOptional<z.ZodType<Server[Key]>> };

const isOfModel = ([key]: readonly [string, unknown]) =>
  FLAGS.some(({ setting, ofModel }) => setting === key && ofModel === "settings");

/** The values of these settings belong to a model: they change when a server gets another one. */
const settings = z
  .strictObject({
    // `fromEntries` forgets the keys; the table's type has the same ones.
    ...(Object.fromEntries(
      Object.entries(server)
        .filter(isOfModel)
        .map(([key, schema]) => [key, withoutDefault(schema)]),
    ) as ModelSettings),
    environment: withoutDefault(server.environment),
    extraArgs: withoutDefault(server.extraArgs),
  })
  .prefault({})
  .describe(
    "Settings of the server, named as in the stack file. Values without a source are left out.",
  );

const day = () => z.iso.date('Expected a day such as "2026-11-22"');
const basis = z
  .enum(["measured", "published", "judged"])
  .describe(
    "`measured`: in a log or on a machine that the source shows. `published`: stated by the source. `judged`: this project's own judgement.",
  );

const source = z.strictObject({
  of: z
    .array(z.string().min(1))
    .min(1)
    .describe(
      "The keys of this file that it supports, such as `share.alone` or `settings.moeBackend`.",
    ),
  basis,
  source: z.string().min(1).describe("Who says it, and where."),
  date: day().describe("Day on which it was published or, if that is not known, read."),
});

const report = z.strictObject({
  of: z
    .string()
    .min(1)
    .describe("The key of this file that it is against: one of `settings`, `parsers`, or `draft`."),
  what: z.string().min(1).describe("What was seen with it."),
  upTo: z
    .string()
    .regex(/^\d+\.\d+(\.\d+)?$/, "Expected a version such as 0.30.0")
    .optional()
    .describe("Last vLLM of which it was reported. Default: any."),
  source: z.string().min(1).describe("Who says it, and where."),
  date: day().describe("Day on which it was published or, if that is not known, read."),
});

const speed = z.strictObject({
  tokensPerSecond: z.number().positive().describe("Tokens in a second, for one stream."),
  what: z
    .enum(["decode", "prefill"])
    .default("decode")
    .describe("Answering, or reading the prompt."),
  with: z
    .string()
    .min(1)
    .optional()
    .describe(
      "What it ran with otherwise than the settings above. It is then no speed of what `serving models use` writes, and only `models show` has it.",
    ),
  vllm: z
    .string()
    .min(1)
    .optional()
    .describe("vLLM that it was measured with. Default: the source doesn't say."),
  drafts: z
    .union([z.int().min(1), z.literal("unstated")])
    .optional()
    .describe(
      "Draft tokens that it ran with; `unstated` if the source doesn't say how many. Default: none.",
    ),
  basis,
  source: z.string().min(1).describe("Who measured it."),
  date: day().describe("Day on which it was published or, if that is not known, read."),
});

const start = z.strictObject({
  share: utilization().describe("Its `--gpu-memory-utilization`."),
  besideShare: utilization()
    .optional()
    .describe("Share of the other engine on the machine, if there was one."),
  maxModelLen: z
    .int()
    .min(1)
    .optional()
    .describe("Its window in tokens. Default: `settings.maxModelLen`."),
  vllm: z
    .string()
    .min(1)
    .optional()
    .describe("Its vLLM version. Default: any from `minimumVllm` on."),
  works: z.boolean().describe("Whether the server came up."),
  source: z.string().min(1).describe("Who started it, and where that is documented."),
  date: day().describe("Day on which it was published or, if that is not known, read."),
});

/** What is known of one model: `models/<org>--<name>/recipe.yaml`. */
export const recipe = z
  .strictObject({
    id: modelSettings.shape.id,
    servedModelName: servedName().describe("Name that clients ask for; no slash."),
    kind: z
      .enum(["chat", "embedding", "rerank"])
      .default("chat")
      .describe("What the model does, as `model.kind`."),
    family: modelSettings.shape.family
      .unwrap()
      .describe("Family, as `model.family` of the stack file."),
    thinking: z.boolean().describe("Whether the model has a thinking mode, as `model.thinking`."),
    machines: z
      .int()
      .min(1)
      .default(1)
      .describe("Machines that it needs, joined by a link (`nodes`)."),
    config: z
      .strictObject({
        from: z
          .enum(["model", "class-defaults", "other-model"])
          .describe(
            "`model`: the model's own fields. `class-defaults`: those of its class in transformers. `other-model`: those of a model of the same shape. In the last two cases the plan asks for the real file.",
          ),
        source: z.string().min(1).describe("Where config.json is from."),
        date: day().describe("Day of that source."),
      })
      .describe("Where the config.json beside this file is from."),
    quantization: z
      .string()
      .min(1)
      .optional()
      .describe("How the weights are stored.")
      .meta({ examples: ["NVFP4 (modelopt)", "MXFP4"] }),
    weights: z
      .strictObject({
        diskGB: gigabytes().optional().describe("Their size on disk in GB (10^9 bytes)."),
        residentGiB: gibibytes()
          .optional()
          .describe("Memory in GiB that they take once loaded, if known separately."),
        partlyOnDisk: z
          .boolean()
          .default(false)
          .describe(
            "Whether part of them stays on disk: then their size says nothing about memory.",
          ),
      })
      .prefault({})
      .describe("Size of the weights."),
    parsers: z
      .strictObject({
        tool: z.string().min(1).optional().describe("Tool parser (`tools.parser`)."),
        reasoning: z.string().min(1).optional().describe("Reasoning parser (`reasoningParser`)."),
      })
      .prefault({})
      .describe("Parsers, if the family doesn't choose them."),
    minimumVllm: z
      .string()
      .regex(/^\d+\.\d+(\.\d+)?$/, "Expected a version such as 0.30.0")
      .optional()
      .describe("Lowest version of vLLM that serves it on this kind of machine."),
    image: textMatching(IMAGE_REFERENCE, "Expected an image such as eugr/spark-vllm-b12x:latest")
      .optional()
      .describe(
        "Image that it needs, if vLLM's own releases don't serve it: a repository, with a tag if its registry has no releases.",
      ),
    share: z
      .strictObject({
        alone: utilization().optional().describe("`gpuMemoryUtilization` if no other engine runs."),
        beside: z
          .union([utilization(), z.literal("never")])
          .optional()
          .describe("The same beside another engine; `never` if it needs the machine for itself."),
      })
      .prefault({})
      .describe("Share of the machine's memory."),
    settings,
    draft: server.speculative.describe(
      "Speculative decoding, if published. It is only written on request.",
    ),
    speeds: z.array(speed).default([]).describe("Published speeds of vLLM on such a machine."),
    starts: z
      .array(start)
      .default([])
      .describe(
        "Published starts that say nothing about the KV cache; the others are in starts.json.",
      ),
    against: z
      .array(report)
      .default([])
      .describe(
        "Reports against values above, beside those for them. The plan of a stack that uses such a value names both sources.",
      ),
    notes: z.array(z.string().min(1)).default([]).describe("What else to know, a sentence each."),
    sources: z.array(source).default([]).describe("Sources of the values above."),
  })
  .describe("What is known of one model, each value with its source.");

export type Recipe = z.output<typeof recipe>;

/** The values of a recipe that need a source, by their paths. */
function figuresOf(given: Recipe): string[] {
  const { weights, share, settings: own, parsers, ...rest } = given;
  const inner = {
    weights: { ...weights, partlyOnDisk: weights.partlyOnDisk || undefined },
    share,
    settings: own,
    parsers,
  };
  const alone = ["quantization", "minimumVllm", "image", "draft"] as const;
  return [
    ...alone.filter((key) => rest[key] !== undefined),
    ...Object.entries(inner).flatMap(([block, keys]) =>
      Object.entries(keys).flatMap(([key, value]) =>
        value === undefined ? [] : [`${block}.${key}`],
      ),
    ),
  ];
}

/**
 * Finds values without a source, sources of no value, and values with two sources. Says where, and
 * what to write instead.
 */
export function sourceIssues(given: Recipe): { path: PropertyKey[]; message: string }[] {
  const told = given.sources.flatMap(({ of }) => of);
  const figures = figuresOf(given);
  const unnamed = figures.filter((path) => !told.includes(path));
  const isSetting = (path: string) => /^(?:settings|parsers)\.|^draft$/.test(path);
  return [
    ...given.against.flatMap(({ of }, index) =>
      figures.includes(of) && isSetting(of)
        ? []
        : [
            {
              path: ["against", index, "of"],
              message: `There is no setting \`${of}\` above to report against.`,
            },
          ],
    ),
    ...unnamed.map((path) => ({
      path: path.split("."),
      message: `No source says where \`${path}\` is from: name it in \`sources\`.`,
    })),
    ...given.sources.flatMap(({ of }, index) =>
      of.flatMap((path, at) => {
        const place = ["sources", index, "of", at];
        if (!figures.includes(path))
          return [{ path: place, message: `There is no \`${path}\` above.` }];
        const again = told.indexOf(path) !== told.lastIndexOf(path);
        return again ? [{ path: place, message: `\`${path}\` has two sources.` }] : [];
      }),
    ),
  ];
}

/** Where a value of a recipe is from. */
export const sourceOf = (
  { sources }: Recipe,
  path: string,
): Recipe["sources"][number] | undefined => sources.find(({ of }) => of.includes(path));

/** A setting of the stack file, without its default, which isn't the model's. */
function withoutDefault<T extends z.ZodType>(setting: z.ZodDefault<T>): z.ZodOptional<T>;
function withoutDefault(setting: z.ZodType): z.ZodType;
function withoutDefault(setting: z.ZodType) {
  return setting instanceof z.ZodDefault
    ? z.optional(setting.unwrap()).describe(setting.description ?? "")
    : z.optional(setting);
}
