import * as z from "zod";
import { port } from "../fields";
import { MODEL_KINDS } from "../modelKind";
import { containerSchema } from "./container";
import { secretFileSchema } from "./files";
import { rankSchema } from "./rank";
import { serveSchema } from "./serve";

const text = () => z.string();
const texts = () => z.array(z.string());

/** Address and port that something listens on. */
const listening = {
  address: text(),
  port: port(),
  onLink: z
    .literal(true)
    .exactOptional()
    .describe(
      "Present if the address is on a link between machines: the machine's names on other networks don't lead to it.",
    ),
};

export const reachSchema = z
  .object({
    key: text().describe(
      "Key of `inferenceServers`, `instance-a`, `simple-server`, `bridge` or `chat-ui`.",
    ),
    name: text(),
    ...listening,
    path: text().describe("Where its API begins: `/v1`, or empty."),
  })
  .meta({ id: "Reach", description: "Something on a machine that a program can ask." });

export const endpointSchema = z
  .object({
    key: text(),
    name: text(),
    url: text().describe("For a program on the machine."),
    network: text()
      .exactOptional()
      .describe(
        "For other computers: the URL, or words if the machine's name isn't declared. Absent where no other computer reaches it.",
      ),
  })
  .meta({ id: "Endpoint", description: "Where clients reach something." });

/** Versions inside an image, and how they are known. */
export const imageRecordSchema = z.object({
  image: text(),
  digest: text().describe("`sha256:` and 64 hex digits, or empty if the image reference has none."),
  versions: z.record(text(), text()),
  evidence: z.enum(["published", "read", "none"]),
  source: text(),
  recordedOf: text()
    .exactOptional()
    .describe(
      "The digest that the record itself names; empty if it names none. Earlier versions left it out.",
    ),
  platformDigest: text()
    .exactOptional()
    .describe("Digest of the platform's own image, in which the versions were read."),
});

/** What decides how much of a machine's memory one inference server takes. */
const memoryDemandSchema = z.object({
  utilization: z.number(),
  kvCacheGiB: z
    .number()
    .exactOptional()
    .describe("Fixed size of the KV cache. vLLM then ignores the utilization for the cache."),
  outsideGiB: z
    .number()
    .exactOptional()
    .describe("Memory that the server takes outside its KV cache, if known."),
  hostGiB: z.number().exactOptional().describe("Buffers that vLLM counts as CPU memory."),
});

const hubModel = z.object({
  id: text(),
  revision: text().exactOptional().describe("The commit that is pinned."),
});

const plannedAdapter = z.object({
  name: text().describe("Name that clients ask for."),
  path: text().exactOptional().describe("Its folder on the machine, if it isn't from the hub."),
  id: text().exactOptional().describe("Its hub id, with the commit that is pinned."),
  revision: text().exactOptional(),
  target: text().describe("Its path inside the container."),
  rank: z.int().positive().exactOptional().describe("Its rank, if the stack file gives it."),
  trainedOn: text()
    .exactOptional()
    .describe("The model that it was trained on, if the stack file gives it."),
});

const speedFigure = z.object({
  tokensPerSecond: z.number().describe("Tokens in a second of one answer alone."),
  on: text().describe("Whose machine: `this machine`, or `a DGX Spark` of somebody else."),
  source: text().describe("Who measured it."),
  date: text().describe("Day on which it was measured, published or read."),
  vllm: text().exactOptional().describe("vLLM that it was measured with; absent if nobody says."),
  drafts: z
    .union([z.int().min(1), z.literal("unstated")])
    .exactOptional()
    .describe("Draft tokens that it was measured with; absent if there were none."),
});

export const servedSpeedSchema = z
  .object({
    decode: speedFigure
      .nullable()
      .describe("The server as it is set here; `null` if nobody's figure of that is known."),
    withDrafts: speedFigure
      .exactOptional()
      .describe(
        "The same with the drafts of `serving models use MODEL --drafts`; absent if the server has drafts already, or nobody's figure of these settings is known.",
      ),
  })
  .meta({ id: "ServedSpeed", description: "How fast a server answers, and whose figure that is." });

export const inferenceServerSchema = z
  .object({
    key: text().describe("Key in the stack file; a worker's is MACHINE.KEY of its head."),
    model: z.object({ id: text(), kind: z.enum(MODEL_KINDS), thinking: z.boolean() }),
    servedModelName: text(),
    serve: serveSchema,
    reach: reachSchema,
    container: containerSchema,
    rank: rankSchema
      .exactOptional()
      .describe("Its place among the ranks, if several machines share the model."),
    memory: memoryDemandSchema.describe("Memory that its arguments ask for."),
    speed: servedSpeedSchema
      .exactOptional()
      .describe(
        "How fast it answers; absent for a rank without the API, for a model that writes no text, and in plans of earlier versions.",
      ),
    imageRecord: imageRecordSchema,
    modelCache: text().describe(
      "Directory on the machine that holds the models; made when missing, never removed.",
    ),
    hubModels: z
      .array(hubModel)
      .describe("What it loads from the hub: its model, its draft model, and adapters."),
    adapters: z
      .array(plannedAdapter)
      .exactOptional()
      .describe("LoRA adapters that it serves beside its model; absent if there are none."),
    adapterSlots: z
      .object({
        rank: z.int().positive().exactOptional().describe("Rank that each slot has room for."),
        count: z.int().positive().describe("Adapters that can be in use at once."),
      })
      .exactOptional()
      .describe("Slots for its adapters on the GPU; absent if there are none."),
    allowPickle: z
      .literal(true)
      .exactOptional()
      .describe("Whether the operator's folders may have weights that are Python pickles."),
    tokenFile: secretFileSchema
      .exactOptional()
      .describe("The Hugging Face token, if one is needed."),
    jitVolume: text().describe(
      "Volume for compiled kernels; it survives a replacement of the container.",
    ),
    codingClients: texts().describe("Coding clients that are pointed at this server."),
  })
  .meta({
    id: "InferenceServer",
    description:
      "One inference server: its container, and facts that the container's arguments don't carry.",
  });
