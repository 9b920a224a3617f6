import { z } from "zod";

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
      "Tokens of a request that a group keeps at most: the window and the batches under way.",
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
    "The engine's block; groups whose layers cache less of a token have larger ones.",
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
      "Share by which a linear layer's state is padded to fill a page, 0 where there is none.",
    ),
  kvCacheDtype: kvDtypeSchema,
  bytesPerToken: z
    .number()
    .describe("Bytes that the attention layers of kind full cache of one token."),
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
      "Blocks of the pool divided by those of one such request, as the engine's log counts.",
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
      "Whether one request of `maxModelLen` tokens fits; where not, the engine refuses to start.",
    ),
  starts: z
    .boolean()
    .describe("Whether the engine starts at all: a request fits, and so do its sequences."),
  problems: z
    .array(problem)
    .describe("Errors stop the engine at its start; warnings are worth knowing."),
  blockSize: tokens(),
  bytesPerBlock: z.number(),
  numBlocks: z.number(),
  blocksPerRequest: z.number().describe("Blocks of one request of `maxModelLen` tokens."),
  bytesPerRequest: z.number().describe("Bytes of one request of `maxModelLen` tokens."),
  maxConcurrency: z
    .number()
    .describe("Requests of `maxModelLen` tokens that the pool holds, as the engine's log says it."),
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
      "Blocks that requests can take: the pool without what this version's fit check keeps free.",
    ),
  largestMaxModelLen: tokens()
    .nullable()
    .describe(
      "The largest `--max-model-len` that this memory can serve; 0: none, `null`: any (all layers slide).",
    ),
  fullWindowsAtOnce: z
    .number()
    .describe("Whole requests of `maxModelLen` tokens that are served at once."),
  prefixReuseTokens: tokens()
    .nullable()
    .describe(
      "A prompt's cached prefix is found again in steps of so many tokens; `null` without prefix caching.",
    ),
  agentReuse: agentReuseSchema
    .nullable()
    .describe(
      "What an agent's calls find again; `null` without prefix caching, and for kinds of layers that were not compared.",
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
      "Where the figure is from: a measurement of this image, a setting, somebody's published start, or the weights alone.",
    ),
  lowGiB: z.number().describe("The same as `highGiB` where it is exact."),
  highGiB: z.number(),
  outsideGiB: z
    .object({ low: z.number(), high: z.number() })
    .describe("What lies outside the KV cache."),
  source: z.string(),
  started: z
    .object({ share: z.number(), source: z.string() })
    .exactOptional()
    .describe("The published start that proves the room; absent where none has to."),
});

/** How many agents of one kind an engine serves at the same time. */
export const agentsSchema = z.object({
  promptTokens: tokens(),
  maxTokens: tokens(),
  requestTokens: tokens().describe(
    "Prompt and `max_tokens` together: what the window is compared with.",
  ),
  admitted: z
    .boolean()
    .describe(
      "Whether a call is taken at all; one longer than the window is answered with HTTP 400.",
    ),
  blocksPerAgent: z.number(),
  bytesPerAgent: z.number(),
  atOnce: z
    .number()
    .describe(
      "Agents that work at once (0 where the engine does not start), each to the last token of its request.",
    ),
  limitedBy: z
    .enum(["window", "kv-cache", "max-num-seqs"])
    .describe("What more agents would need first."),
});

/** A cold prompt: nothing of it is in the prefix cache. */
export const prefillSchema = z.object({
  tokens: tokens(),
  seconds: z.number().describe("Seconds until its first token, whole."),
});

export const serverKvSchema = kvPlanSchema
  .extend({
    room: kvRoomSchema,
    weightsGB: z
      .number()
      .nullable()
      .describe("Size of the weights in GB (10^9 bytes); `null` where it is not known."),
    ranks: z
      .int()
      .describe(
        "Ranks that share the model, each with a GPU of its own: all figures but the weights' size are those of one.",
      ),
    least: z
      .object({ machine: z.string(), totalGiB: z.number() })
      .exactOptional()
      .describe(
        "The machine with the least memory of those that share the model: its room counts for all. Absent where it is this one.",
      ),
    atBest: z.object({ fits: z.boolean(), maxConcurrency: z.number() }),
    agents: z.array(agentsSchema).describe("How many coding agents work at once, by size."),
    prefill: z
      .object({ prompts: z.array(prefillSchema), source: z.string() })
      .nullable()
      .describe("What a cold prompt costs; `null` where nobody measured this model."),
  })
  .meta({
    id: "KvCache",
    description:
      "The KV plan of one server. Its figures are those of the least room; `atBest` has those of the most.",
  });
