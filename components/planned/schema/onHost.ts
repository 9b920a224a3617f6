import * as z from "zod";
import { port } from "../fields";
import { fileSchema } from "./files";

// Apart from all other planned data: a plan is made by these two, and only a check of an applied
// plan needs the others.

const text = () => z.string();
const texts = () => z.array(z.string());

/** Instance A as it is declared. */
export const hostInstanceSchema = z.object({
  port: port(),
  servedModelName: text().exactOptional(),
  toolParser: text()
    .exactOptional()
    .describe("`none` if it makes no structured tool calls. Absent: not known."),
  keyVariable: text()
    .exactOptional()
    .describe("Variable with its key; `none` if it asks for none. Absent: not known."),
  gpuMemoryUtilization: z.number(),
  maxModelLen: z.int().exactOptional(),
  model: text().exactOptional(),
  weightsGB: z.number().exactOptional(),
});

/** An Ollama that is installed on the host. */
export const hostSimpleServerSchema = z.object({
  mode: z.literal("host"),
  unit: text().describe("systemd unit of the service."),
  listen: text(),
  port: port(),
  baseUrl: text().describe("Its address from the machine itself."),
  modelsDirectory: text(),
  serviceUser: text().describe("User that the service runs as, who must own the directory."),
  models: texts(),
  loadedGiB: z
    .record(text(), z.number())
    .describe("Memory of a loaded model, including its context, if declared."),
  toolCalls: z
    .record(text(), text())
    .exactOptional()
    .describe("Models that made tool calls, with the day; absent if none is recorded."),
  pull: z.boolean().describe("Whether missing models are pulled."),
  environment: z.record(text(), text()).describe("Variables that the drop-in sets."),
  dropIn: fileSchema,
});
