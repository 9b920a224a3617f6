import * as z from "zod";
import { port } from "../fields";

const text = () => z.string();

export const serveSchema = z
  .object({
    key: text().describe("Key in the stack file."),
    container: text().describe("Name of its container."),
    model: text(),
    names: z.array(text()).describe("Names that it answers to, the canonical one first."),
    adapters: z
      .array(text())
      .exactOptional()
      .describe("Names of its LoRA adapters, which it also answers to; absent if it has none."),
    port: port(),
    maxModelLen: z.int().positive().describe("Window in tokens."),
    maxNumSeqs: z.int(),
    gpuMemoryUtilization: z.number(),
    kvCacheDtype: text(),
    prefixCaching: z.boolean(),
    toolParser: text().nullable().describe("`null` where none is passed."),
    reasoningParser: text().nullable().describe("`null` where none is passed."),
  })
  .meta({
    id: "Serves",
    description: "What a server serves, as read from its arguments.",
  });
