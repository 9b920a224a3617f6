import { z } from "zod";
import { gibibytes, listenAddress, port, serverReference } from "../planned/fields";
import { imageReference } from "./image";

/** Open WebUI in a container, as in the stack file. */
export const chatUi = z
  .strictObject({
    image: imageReference(),
    port: port().default(8080).describe("TCP port on the machine; 8080 inside the container."),
    listen: listenAddress().describe(
      "Address that the port is published on. `0.0.0.0` serves the local network: the chat UI has accounts of its own.",
    ),
    connections: z
      .array(serverReference())
      .optional()
      .describe(
        "Servers whose models the chat UI offers. Default: every entry of `inferenceServers`, and the simple server where it listens beyond loopback.",
      ),
    memoryGiB: gibibytes()
      .optional()
      .describe(
        "Memory in GiB that the chat UI was measured to take on this machine. Default: 1.2, measured on another one.",
      ),
  })
  .describe(
    "The browser chat UI: Open WebUI in a container. The first who signs up is its administrator; after that sign-up is closed.",
  );

/** The settings of the chat UI, parsed. */
export type ChatUiSettings = z.output<typeof chatUi>;
