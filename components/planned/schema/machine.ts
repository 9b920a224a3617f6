import { serverKvSchema } from "@local-serving/kv/schema";
import * as z from "zod";
import { containerSchema } from "./container";
import { fileSchema, secretFileSchema } from "./files";
import { admissionSchema, ledgerSchema, startNeedsSchema, togetherSchema } from "./memory";
import { onDemandSchema } from "./onDemand";
import { hostInstanceSchema } from "./onHost";
import { serveSchema } from "./serve";
import { endpointSchema, inferenceServerSchema, reachSchema } from "./servers";
import {
  bridgeSchema,
  chatUiSchema,
  clientSchema,
  harnessSchema,
  serviceSchema,
  simpleServerSchema,
} from "./services";

const byContainer = <Schema extends z.ZodType>(schema: Schema) => z.record(z.string(), schema);

export const machineSchema = z
  .object({
    name: z.string(),
    device: z
      .string()
      .exactOptional()
      .describe("What the machine is, if declared: `gb10` is a DGX Spark."),
    dockerHost: z.string().describe("Address of its Docker engine."),
    network: z.string().describe("Docker network of its containers."),
    home: z
      .string()
      .exactOptional()
      .describe(
        "Home directory assumed for its paths, if it is another computer and `home` isn't declared.",
      ),
    hostInstance: z
      .union([z.literal("none"), hostInstanceSchema])
      .describe("Instance A: it is counted, never changed."),
    inferenceServers: z
      .array(inferenceServerSchema)
      .describe("The servers that answer here, including heads of servers over several machines."),
    ranks: z
      .array(inferenceServerSchema)
      .describe("Workers of other machines' servers that run here: containers without an API."),
    serve: z.array(serveSchema).describe("What each of `inferenceServers` serves."),
    services: z.array(serviceSchema).describe("The programs beside the servers."),
    bridge: bridgeSchema.nullable(),
    chatUi: chatUiSchema.nullable(),
    clients: z.array(clientSchema),
    harness: harnessSchema.nullable(),
    containers: z.array(containerSchema).describe("Every container of ours on the machine."),
    files: z
      .array(fileSchema)
      .describe("Every file of ours on the machine. The applied plan does not list itself."),
    secretFiles: z
      .array(secretFileSchema)
      .describe(
        "Files whose content is a secret. The plan has only the name of the variable that holds it.",
      ),
    simpleServer: simpleServerSchema,
    elevate: z
      .union([z.literal("none"), z.array(z.string())])
      .describe(
        "Words before a command that needs root; with `none` such steps are skipped and listed in `commands`.",
      ),
    waitForRequestsMinutes: z
      .number()
      .describe(
        "How long an update, or `serving stop`, waits for running requests before it takes their server away.",
      ),
    memoryFloorGiB: z
      .number()
      .describe("The start gates stop a server when less memory than this is available."),
    ledger: ledgerSchema.describe(
      "Memory of everything that runs at once. Among servers that start on request, the largest set counts.",
    ),
    together: togetherSchema
      .exactOptional()
      .describe("Which servers run together, if some start on request."),
    onDemand: onDemandSchema
      .exactOptional()
      .describe("What starts servers when their models are asked for, if declared."),
    otherGpuMemoryGiB: z
      .number()
      .exactOptional()
      .describe("Memory of containers with GPUs that are not inference servers, if declared."),
    gpus: z.int().exactOptional().describe("GPUs of the machine, if more than one."),
    kv: byContainer(serverKvSchema.nullable()).describe(
      "KV cache plan by container name; `null` if the model's layers or the memory are not known.",
    ),
    starts: byContainer(startNeedsSchema).describe(
      "The least that each server of ours needs to start, by container name.",
    ),
    admission: z
      .array(admissionSchema)
      .describe(
        "vLLM's own check at a start, calculated: one entry for each server of ours, if the machine's meminfo was given.",
      ),
    reach: z.array(reachSchema).describe("Everything that answers on a port, instance A included."),
    endpoints: z
      .array(endpointSchema)
      .describe("The same, with the address that a program on the machine uses."),
    commands: z
      .array(z.string())
      .describe("Commands that an operator has to run, because we may not."),
  })
  .meta({ id: "Machine", description: "What one machine will run." });

export const warningSchema = z
  .object({
    machine: z.string(),
    code: z.string(),
    message: z.string(),
    note: z
      .literal(true)
      .exactOptional()
      .describe("Present if it is for information only: nothing is at risk."),
  })
  .meta({
    id: "Warning",
    description: "Something that will work but that an operator should know before it runs.",
  });
