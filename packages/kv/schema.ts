import * as z from "zod";

const tokens = () => z.number();

/** A format of the KV cache that can be planned, as `--kv-cache-dtype` names it. */
export const kvDtypeSchema = z.enum([
  "bfloat16",
  "float16",
  "fp8",
  "fp8_e4m3",
  "fp8_e5m2",
  "fp8_inc",
  "nvfp4",
  "nvfp4_4over6",
  "fp8_per_token_head",
  "int8_per_token_head",
  "int4_per_token_head",
]);

const groups = {
  layers: z.int(),
  groups: z.int(),
  blockSize: tokens().describe("Tokens that a block of the pool holds for such a group."),
};

/** Layers of one kind, split into groups that share a block table. */
export const cacheGroupsSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("full"), ...groups }),
  z.object({
    kind: z.literal("sliding"),
    mostTokens: tokens().describe(
      "The most tokens of a request that a group keeps: the window plus the batches under way.",
    ),
    ...groups,
  }),
  z.object({
    kind: z.literal("linear"),
    blocks: z.int().describe("Blocks that a request holds in each group, whatever its length."),
    ...groups,
  }),
]);

/**
 * How the engine cuts the cache into blocks; it depends on model and engine, not on the memory
 * there is.
 */
export const cacheLayoutSchema = z.object({
  blockSize: tokens().describe(
    "Tokens in the engine's block. Groups whose layers cache fewer bytes per token have larger blocks.",
  ),
  pageBytes: z.number().describe("Bytes that one layer needs for one block."),
  bytesPerBlock: z
    .number()
    .describe("Bytes of one block of the pool: a page for each layer of a group."),
  layersPerGroup: z.int(),
  groups: z.array(cacheGroupsSchema),
  draftLayers: z.int().describe("Draft layers, counted among the full ones."),
  paddingLayers: z.int().describe("Places in the groups that no layer fills."),
  padding: z
    .number()
    .describe(
      "Share by which a linear layer's state is padded to fill a page; 0 without linear layers.",
    ),
  kvCacheDtype: kvDtypeSchema,
  bytesPerToken: z.number().describe("Bytes that the `full` attention layers cache for one token."),
});

const layers = z.object({
  full: z.int(),
  sliding: z.int(),
  linear: z.int(),
  draft: z.int(),
  groups: z.int(),
  layersPerGroup: z.int(),
  padding: z.int().describe("Places in the groups that no layer fills."),
});

const reuseShares = { usual: z.number(), least: z.number() };

/**
 * Shares of its previous prompt that an agent's call finds again: of all calls together, and of the
 * worst one.
 */
export const agentReuseSchema = z.object({
  ...reuseShares,
  inFineSteps: z
    .object(reuseShares)
    .describe("The same with `--prefix-match-unit` at its smallest."),
});

const request = z.object({
  tokens: tokens(),
  blocks: z.number(),
  bytes: z.number(),
  concurrency: z
    .number()
    .describe(
      "Blocks of the pool divided by the blocks of one such request, as the engine's log counts.",
    ),
});

const problem = z.object({
  path: z.string(),
  code: z.string(),
  message: z.string(),
  severity: z.enum(["error", "warning"]),
  file: z.string().exactOptional(),
  line: z.int().exactOptional(),
  column: z.int().exactOptional(),
});

/** What an engine will make of the memory for its KV cache. All figures are of one device. */
export const kvPlanSchema = z.object({
  fits: z
    .boolean()
    .describe(
      "Whether one request of `maxModelLen` tokens fits; if not, the engine refuses to start.",
    ),
  starts: z
    .boolean()
    .describe(
      "Whether the engine starts at all: one request fits, and so do `maxNumSeqs` sequences.",
    ),
  problems: z.array(problem).describe("Errors stop the engine at its start; warnings don't."),
  blockSize: tokens(),
  bytesPerBlock: z.number(),
  numBlocks: z.number(),
  blocksPerRequest: z.number().describe("Blocks of one request of `maxModelLen` tokens."),
  bytesPerRequest: z.number().describe("Bytes of one request of `maxModelLen` tokens."),
  maxConcurrency: z
    .number()
    .describe("Requests of `maxModelLen` tokens that the pool holds, as in the engine's log."),
  tokens: tokens().describe(
    '"GPU KV cache size" of the engine\'s log: concurrency times `maxModelLen`. Compare concurrency, not this.',
  ),
  layers,
  padding: z
    .number()
    .describe(
      "Share by which a linear layer's state is padded to fill a page (0.0013: the log's \"0.13%\").",
    ),
  availableBytes: z.number(),
  maxModelLen: tokens(),
  maxNumSeqs: z.number().nullable(),
  kvCacheDtype: kvDtypeSchema,
  vllmVersion: z.string(),
  constantBytesPerRequest: z
    .number()
    .describe("Bytes that a request takes for its linear layers, whatever its length."),
  bytesPerToken: z.number(),
  usableBlocks: z
    .number()
    .describe(
      "Blocks that requests can take: the pool minus the blocks that this vLLM version's fit check keeps free.",
    ),
  largestMaxModelLen: tokens()
    .nullable()
    .describe(
      "The largest `--max-model-len` that this memory can serve; 0: none; `null`: any, since all layers are sliding.",
    ),
  fullWindowsAtOnce: z
    .number()
    .describe("Whole requests of `maxModelLen` tokens that are served at once."),
  prefixReuseTokens: tokens()
    .nullable()
    .describe(
      "A prompt's cached prefix is reused in steps of this many tokens; `null` without prefix caching.",
    ),
  agentReuse: agentReuseSchema
    .nullable()
    .describe(
      "Share of its previous prompt that an agent's call reuses; `null` without prefix caching, and for kinds of layers and widths of blocks that were not compared.",
    ),
  requests: z.array(request).describe("The full window, and the usual lengths below it."),
  layout: cacheLayoutSchema,
});

/**
 * Memory for the KV cache of one server: utilization x total, less what the server takes outside
 * it.
 */
export const kvRoomSchema = z.object({
  basis: z
    .enum(["measured", "setting", "published", "estimated"])
    .describe(
      "Source of the figure: a measurement of this image, a setting, a published start, or the weights alone.",
    ),
  lowGiB: z.number().describe("The same as `highGiB` if the figure is exact."),
  highGiB: z.number(),
  outsideGiB: z
    .object({ low: z.number(), high: z.number() })
    .describe("Memory outside the KV cache."),
  source: z.string(),
  takenGiB: z
    .number()
    .exactOptional()
    .describe(
      "The most that it, or its like, was seen to hold beside its cache while it served. A cache of fixed size is computed from it.",
    ),
  started: z
    .object({ share: z.number(), source: z.string() })
    .exactOptional()
    .describe("The published start that proves the room; absent if none is needed."),
});

/** Whether a server starts, as far as it is known, and what that rests on. */
export const startSchema = z.object({
  verdict: z
    .enum(["starts", "may start", "cannot start"])
    .describe(
      "`cannot start`: by arithmetic alone, or since its like failed for two independent people and started for nobody. `starts`: it was started here, its like was, or one window fits even with the most of the range. `may start`: all between. Each supposes that its share is free then: `admission` judges that.",
    ),
  why: z.string(),
  sureGiB: z
    .number()
    .describe(
      "The most outside the cache by any start that speaks of it, outliers included: with so much and one window within its share it `starts`.",
    ),
  rests: z.array(z.string()).describe("The starts that the range rests on."),
  others: z
    .array(z.string())
    .describe("Starts of this model, and outliers, that don't count as its own, each with why."),
});

/** How many agents of one kind an engine serves at the same time. */
export const agentsSchema = z.object({
  promptTokens: tokens(),
  maxTokens: tokens(),
  requestTokens: tokens().describe(
    "Prompt and `max_tokens` together, compared with the context window.",
  ),
  admitted: z
    .boolean()
    .describe("Whether a call is accepted at all; a call longer than the window gets HTTP 400."),
  blocksPerAgent: z.number(),
  bytesPerAgent: z.number(),
  atOnce: z
    .number()
    .describe(
      "Agents that work at once, each up to the last token of its request; 0 if the engine does not start.",
    ),
  limitedBy: z
    .enum(["window", "kv-cache", "max-num-seqs"])
    .describe("What has to grow first to serve more agents."),
});

/** A cold prompt: nothing of it is in the prefix cache. */
export const prefillSchema = z.object({
  tokens: tokens(),
  seconds: z.number().describe("Seconds until its first token, in whole seconds."),
});

export const serverKvSchema = kvPlanSchema
  .extend({
    room: kvRoomSchema,
    weightsGB: z
      .number()
      .nullable()
      .describe("Size of the weights in GB (10^9 bytes); `null` if not known."),
    ranks: z
      .int()
      .describe(
        "Ranks that share the model, each with its own GPU. All figures except `weightsGB` are for one rank.",
      ),
    least: z
      .object({ machine: z.string(), totalGiB: z.number() })
      .exactOptional()
      .describe(
        "The machine with the least memory among those that share the model: its room counts for all. Absent if it is this machine.",
      ),
    start: startSchema
      .exactOptional()
      .describe("Whether it starts; absent in plans that earlier versions left."),
    atBest: z.object({ fits: z.boolean(), maxConcurrency: z.number() }),
    agents: z.array(agentsSchema).describe("How many coding agents work at once, by size."),
    prefill: z
      .object({ prompts: z.array(prefillSchema), source: z.string() })
      .nullable()
      .describe("Cost of a cold prompt; `null` if this model was never measured."),
  })
  .meta({
    id: "KvCache",
    description:
      "The KV plan of one server. Its figures assume the least room (`room.lowGiB`); those in `atBest` assume the most.",
  });
