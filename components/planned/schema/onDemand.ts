import * as z from "zod";
import { port } from "../fields";

const text = () => z.string();

const onDemandServer = z.object({
  key: text().describe("Key in the stack file."),
  container: text(),
  model: text().describe("Its served model name, which is also its name in llama-swap."),
  names: z.array(text()).describe("Its other names, adapters' included."),
  port: port().describe("Its own port on 127.0.0.1."),
  graceSeconds: z.number().describe("How long it gets to stop."),
  idleMinutes: z
    .number()
    .nullable()
    .describe(
      "It is stopped after this many minutes without a request; `null`: never for being idle.",
    ),
});

export const onDemandSchema = z
  .object({
    address: text().describe("Address that llama-swap listens on."),
    port: port(),
    url: text().describe(
      "Where clients on the machine and in containers reach it, without a path.",
    ),
    network: z
      .object({ name: text(), subnet: text(), gateway: text() })
      .exactOptional()
      .describe("Docker network over which containers reach it, if any ask it."),
    keyVariable: text()
      .exactOptional()
      .describe("NAME of the variable of your shell with its key."),
    keyPath: text().exactOptional().describe("File on the machine that holds the key."),
    folder: text().describe("Its folder on the machine."),
    unit: text().describe("Name of its systemd user unit."),
    program: z.object({
      version: text(),
      sha256: text().exactOptional(),
      from: text().describe("Address of the releases, or path of a program on the machine."),
      path: text().describe("Its path on the machine."),
    }),
    startWithinMinutes: z.number(),
    retryAfterMinutes: z.number(),
    swapsPerHour: z.number(),
    servers: z.array(onDemandServer).describe("The servers that it starts."),
  })
  .meta({
    id: "OnDemand",
    description: "llama-swap, which starts servers when their models are asked for.",
  });
