import * as z from "zod";
import { port } from "../fields";
import { containerSchema } from "./container";
import { fileSchema, secretFileSchema } from "./files";
import { hostSimpleServerSchema } from "./onHost";

const text = () => z.string();
const texts = () => z.array(z.string());

const bridgeModel = z.object({
  name: text(),
  model: text().describe("Provider prefix and model, `hosted_vllm/model`."),
  baseUrl: text().describe("Where the server is asked."),
  startWithinMinutes: z
    .number()
    .exactOptional()
    .describe(
      "Present if requests go through llama-swap, which starts the server: how long that may take.",
    ),
});

/** A Docker volume that keeps data of a service. */
export const volumeSchema = z
  .object({
    part: text().describe("Its role in the service; part of its resource's name."),
    name: text(),
    holds: text().describe("What would be lost if it were removed."),
  })
  .meta({
    id: "Volume",
    description: "A Docker volume with data of a service; it is kept when the stack is removed.",
  });

/** A program beside the servers, whichever it is: what every service says of itself. */
export const serviceSchema = z
  .object({
    key: text().describe("Its block in the stack file."),
    name: text().describe("Its name on the command line, and the role of its container."),
    resource: text().describe("Name of its resource in the stack."),
    container: text().nullable().describe("Container that it runs in; `null` if it runs in none."),
    own: z.boolean().describe("Whether that container is its own and not another service's."),
    servers: texts().describe(
      "Keys of the servers that it sends requests to; `dgx2.b` is server `b` of machine `dgx2`.",
    ),
    volumes: z.array(volumeSchema),
  })
  .meta({ id: "Service", description: "A program beside the servers, of any kind." });

export const bridgeSchema = z
  .object({
    container: containerSchema,
    config: fileSchema,
    key: secretFileSchema
      .nullable()
      .describe("Where its key comes from; `null` if it is a placeholder."),
    address: text(),
    port: port(),
    servers: texts().describe("Keys of the servers behind it."),
    names: texts().describe("Names that it answers to; one may end in `*`."),
    models: z.array(bridgeModel).describe("Each name and the model that it leads to."),
  })
  .meta({
    id: "Bridge",
    description: "The protocol bridge: its container and what the container reads.",
  });

export const chatUiSchema = z
  .object({
    container: containerSchema,
    address: text(),
    port: port(),
    dataVolume: text().describe("Accounts and chats; kept when the stack is removed."),
    modelsVolume: text()
      .nullable()
      .describe("Models of an Ollama in the same container, also kept; `null` without one."),
    servers: texts().describe("Keys of the servers that it is connected to."),
    administrator: z
      .array(secretFileSchema)
      .describe(
        "Where the first account comes from; empty if it belongs to whoever signs up first.",
      ),
  })
  .meta({
    id: "ChatUi",
    description: "The browser chat UI: its container and the volumes that keep its data.",
  });

export const clientSchema = z
  .object({
    client: text(),
    resource: text().describe("Name of its resource in the stack."),
    surface: z.enum(["chat completions", "responses", "messages"]).describe("API that it speaks."),
    coding: z.boolean().describe("Whether it works only with structured tool calls."),
    server: text().describe("Key of the server that finally answers it."),
    serverKind: z.enum(["inference-server", "instance-a", "simple-server"]),
    via: z.enum(["bridge", "native"]),
    baseUrl: text(),
    tiers: z
      .record(text(), text())
      .describe("Each model variable in its file, with the model name that it asks for."),
    maxOutputTokens: z
      .int()
      .exactOptional()
      .describe("Output tokens that it asks for, if its settings give a number."),
    key: z
      .object({
        variable: text(),
        setBy: text().nullable().describe("The launcher; `null`: it starts from your shell."),
      })
      .nullable()
      .describe("Variable that the program reads its key from; `null` if its file holds the key."),
    names: texts().describe(
      "Names that its server or bridge answers to; empty if none is known. A name may end in `*`.",
    ),
    command: text().describe("Its launcher."),
    files: z.array(fileSchema),
  })
  .meta({
    id: "Client",
    description: "A client program that gets a configuration and a launcher.",
  });

export const harnessSchema = z
  .object({
    prefix: text().describe("Prefix of the harness's environment variables, underscore included."),
    providers: text().describe("Path of the providers profile."),
    analytics: text().describe("Path of the session-analytics file."),
    reviewers: z
      .array(
        z.object({
          provider: text(),
          reviews: texts().describe("Subjects whose peer it is."),
          judges: z.boolean().describe("Whether its model judges sessions."),
        }),
      )
      .exactOptional()
      .describe("Who reviews and judges, in the order in which they are tried."),
    keyVariable: text()
      .nullable()
      .exactOptional()
      .describe("Variable with the key that inference servers are sent; `null` if they get none."),
  })
  .meta({
    id: "Harness",
    description: "The automation harness's files; their texts are among the machine's files.",
  });

export const simpleServerSchema = z
  .discriminatedUnion("mode", [
    z.object({ mode: z.literal("none") }),
    z.object({ mode: z.literal("integrated"), models: texts() }),
    hostSimpleServerSchema,
  ])
  .meta({
    id: "SimpleServer",
    description: "Where the simple server (Ollama) runs, and what is set on it.",
  });
