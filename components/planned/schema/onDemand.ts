import { z } from "zod";
import { port } from "../../fields/fields";

const text = () => z.string();

const onDemandServer = z.object({
  key: text().describe("Key in the stack file."),
  container: text(),
  model: text().describe("Its served model name, by which llama-swap knows it."),
  names: z.array(text()).describe("Its other names, adapters' included."),
  port: port().describe("Its own port on 127.0.0.1."),
  graceSeconds: z.number().describe("How long it gets to stop."),
  idleMinutes: z
    .number()
    .nullable()
    .describe("It is stopped after so many minutes without a request; `null`: never for that."),
});

export const onDemandSchema = z
  .object({
    address: text().describe("Address that llama-swap listens on."),
    port: port(),
    url: text().describe("Where it is asked, on the machine and from containers: no path."),
    network: z
      .object({ name: text(), subnet: text(), gateway: text() })
      .exactOptional()
      .describe("Docker network that reaches it, where containers ask."),
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
      path: text().describe("Where it stands on the machine."),
    }),
    startWithinMinutes: z.number(),
    retryAfterMinutes: z.number(),
    swapsPerHour: z.number(),
    measuredSwaps: z
      .object({ swaps: z.int(), lostGiB: z.number(), at: text() })
      .exactOptional()
      .describe("What starts and stops were measured to leave in memory, where it was."),
    servers: z.array(onDemandServer).describe("The servers that it starts."),
  })
  .meta({
    id: "OnDemand",
    description: "llama-swap, which starts servers when their models are asked for.",
  });
