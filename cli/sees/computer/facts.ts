import { DEVICE_IDS, EARLIER_DEVICES, OTHER_DEVICE } from "@local-serving/machines/devices/devices";
import * as z from "zod";
import { gibibytes, port, utilization } from "../../../components/planned/fields";

const text = () => z.string().min(1).max(4096);

/** A vLLM that runs here and isn't ours: instance A, and any further one. */
const hostServer = z.strictObject({
  port: port(),
  address: text().describe("Address that it listens on."),
  runsIn: text().optional().describe("Its systemd unit or container, where that can be seen."),
  argv: z
    .array(text())
    .optional()
    .describe("How it was started, without options that say nothing of memory or model."),
  unread: text().optional().describe("Why its argv can't be read."),
  venv: text().optional().describe("Its Python environment."),
  version: text().optional(),
  model: text().optional(),
  servedModelName: text()
    .optional()
    .describe("Its first name without a slash, else its first name."),
  toolParser: text().optional().describe("Its tool parser; `none` if it makes no tool calls."),
  asksForKey: z.boolean().optional(),
  maxModelLen: z.int().min(1).optional(),
  share: utilization().optional().describe("What it takes of the machine's memory."),
  shareFrom: z.enum(["argv", "default", "container", "metrics"]).optional(),
});

const ollama = z.strictObject({
  version: text().optional().describe("Version of the Ollama that answers."),
  unit: z.boolean().describe("Whether systemd has `ollama.service`."),
  user: text().optional(),
  runsIn: text().optional().describe("Its container, where that can be seen."),
  address: text().optional().describe("Address that it listens on."),
  modelsDirectory: text().optional(),
  models: z.array(
    z.strictObject({ name: text(), sizeGB: z.number().min(0), loadedGiB: gibibytes().optional() }),
  ),
});

const docker = z.discriminatedUnion(
  "reachable",
  [
    z.strictObject({ reachable: z.literal(false), reason: text() }),
    z.strictObject({
      reachable: z.literal(true),
      gpuRuntime: z.boolean(),
      missingBridge: text().optional(),
      ours: z
        .array(
          z.strictObject({
            name: text(),
            machine: text(),
            ports: z.array(port()),
            gpuMemoryUtilization: utilization().optional(),
          }),
        )
        .describe("Running containers that a stack of this project made."),
    }),
  ],
  { error: "Expected `reachable: true` or `reachable: false`" },
);

/**
 * What `serving init` sees of a machine: what `--facts` prints and `--from` takes. No key is in it.
 */
export const hostFacts = z.strictObject({
  readAt: z.iso.datetime(),
  host: text().describe("Its name."),
  kernel: text().describe("Release, as `uname -r` prints it."),
  kernelArguments: z.array(text()).describe("Arguments of its kernel that known troubles ask for."),
  driver: text().optional().describe("Version of the NVIDIA driver."),
  gpus: z.array(text()),
  device: z
    .preprocess(
      (id) => (EARLIER_DEVICES.includes(String(id)) ? OTHER_DEVICE : id),
      z.enum(DEVICE_IDS).optional(),
    )
    .describe("What it was recognised as."),
  product: text().optional().describe("What it calls itself, by its DMI or device tree."),
  gpuMemoryGiB: gibibytes().optional().describe("The GPUs' own memory, by nvidia-smi."),
  unshown: z.literal("NVIDIA").optional().describe("A maker whose GPU no driver shows."),
  gpuUsers: z
    .array(z.strictObject({ name: text(), gib: gibibytes() }))
    .optional()
    .describe("What else holds GPU memory: containers, units, processes."),
  memory: z.strictObject({ totalGiB: gibibytes(), availableGiB: z.number().min(0) }),
  dockerHost: text()
    .optional()
    .describe(
      "Where Docker listens, if not at the usual socket here; `ssh://` for another machine.",
    ),
  home: text().optional().describe("Home directory, if it isn't that user's usual one."),
  docker,
  applied: z
    .array(text())
    .optional()
    .describe(
      "What stack files call the machine whose plan `serving up` left in its usual folder.",
    ),
  servers: z.array(hostServer),
  ports: z.array(port()).describe("Every TCP port that something listens on."),
  ollama: ollama.optional(),
  modelCache: z.strictObject({
    path: text(),
    usual: z.boolean().describe("Whether it is ~/.cache/huggingface."),
    freeGB: z.number().min(0).optional(),
    models: z.array(
      z.strictObject({
        id: text(),
        whole: z.boolean(),
        weightsGB: z.number().positive().optional(),
      }),
    ),
  }),
  clients: z.array(text()).describe("Coding clients on PATH, by their programs."),
});

export type HostFacts = z.output<typeof hostFacts>;
export type HostServer = z.output<typeof hostServer>;
export type OllamaFacts = z.output<typeof ollama>;
