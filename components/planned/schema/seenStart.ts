import type { DataOf } from "@local-serving/base/data/dataOf";
import * as z from "zod";
import { strictObject } from "zod";

/** A field that a publisher may have left unsaid: `null`, as a key that is left out. */
const known = <Schema extends z.ZodType>(schema: Schema) => schema.nullable().default(null);
const text = () => z.string().min(1);
const count = () => z.int().min(1);
const gib = () => z.number().positive();

/** vLLM's own lines on memory, in GiB for one rank; a line that is not known is left out. */
const ownLines = strictObject({
  weightsGiB: gib().optional().describe("`Model loading took`."),
  consumedGiB: gib().optional().describe("`for consumed memory (weights + non-torch)`, vLLM 0.30."),
  nonTorchGiB: z.number().optional().describe("`for non-torch memory`, up to vLLM 0.27."),
  peakActivationGiB: z.number().optional().describe("`for peak activation`."),
  cudaGraphsGiB: z.number().optional().describe("`for CUDAGraph memory`."),
});

/** One start of a server, with what it ran with. Figures are those of one rank. */
export const seenStartSchema = strictObject({
  device: known(text()).describe(
    "Kind of machine: an id of `packages/machines/devices/devices.json`, or a name such as `rtx-5090`.",
  ),
  memory: known(z.enum(["unified", "own"])).describe(
    "Whether CPU and GPU share one memory, or the GPU has its own.",
  ),
  totalGiB: known(gib()).describe("The machine's MemTotal in GiB; of a GPU with its own, that."),
  vllm: known(text()).describe("Version of vLLM."),
  image: known(text()).describe("Image that it ran in."),
  loader: known(text()).describe("`--load-format`; `auto` where it was not given."),
  maxModelLen: known(count()).describe("Window in tokens."),
  maxNumSeqs: known(count()).describe("Sequences at once."),
  maxNumBatchedTokens: known(count()).describe("Tokens in a batch."),
  draftTokens: z
    .int()
    .min(0)
    .nullable()
    .default(0)
    .describe("Draft tokens per step; 0, or left out, if there were none; `null`: not known."),
  kvCacheDtype: known(text()).describe("`--kv-cache-dtype`."),
  compileCache: known(z.enum(["cold", "warm"])).describe("Whether kernels were compiled before."),
  utilization: known(z.number().gt(0).lte(1)).describe("Its `--gpu-memory-utilization`."),
  kvCacheMemoryBytes: known(count()).describe("Fixed size of its cache, if it had one."),
  ranks: count().default(1).describe("Ranks that shared the model, one per machine."),
  availableKvGiB: known(z.number()).describe(
    "`Available KV cache memory` of its log in GiB; may be negative.",
  ),
  lines: ownLines.default({}).describe("vLLM's other lines on its memory."),
  takenGiB: known(gib()).describe(
    "What its process held beside the KV cache while it served, by RSS or by MemAvailable before and after.",
  ),
  outcome: z
    .enum(["started", "no-kv-room", "failed-otherwise"])
    .optional()
    .describe(
      "`no-kv-room`: no room, or too little, for the KV cache. Any other failure says nothing of memory beside the cache. Default: by `availableKvGiB`.",
    ),
  author: known(text()).describe("Who published it; starts of one author are one source."),
  source: text().describe("Who measured it, on what, and when."),
});

/** How a model's layers work, as far as that decides what vLLM takes beside weights and cache. */
export const modelClass = z.enum(["dense", "moe", "hybrid", "mla"]);

const group = {
  class: known(modelClass).describe("Kind of model; `hybrid` and `mla` may be MoE as well."),
  weightsGiB: known(gib()).describe("All its weights once loaded, in GiB."),
  starts: z.array(seenStartSchema),
};

/** What `models/<model>/starts.json` holds. */
export const startsFileSchema = strictObject(group);

/** What `models/starts.json` holds: starts of models that the catalogue doesn't have. */
export const otherStartsSchema = strictObject({
  models: z.array(strictObject({ model: text(), ...group })),
});

export type SeenStart = DataOf<typeof seenStartSchema>;

/** Starts of one model. */
export type ModelStarts = DataOf<typeof otherStartsSchema>["models"][number];

export type ModelClass = z.output<typeof modelClass>;
