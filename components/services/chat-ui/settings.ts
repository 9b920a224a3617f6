import * as z from "zod";
import { optional, strictObject } from "zod";
import {
  containerImage,
  gibibytes,
  listenAddress,
  port,
  servedName,
  serverReference,
  usual,
  variableName,
} from "../../planned/fields";

/** Open WebUI in a container, as in the stack file. */
export const chatUiSettings = strictObject({
  image: containerImage(),
  port: usual(8080, port()).describe("TCP port on the machine; 8080 inside the container."),
  listen: listenAddress().describe(
    "Address that the port is published on. `0.0.0.0` serves the local network: the chat UI has its own accounts.",
  ),
  connections: optional(z.array(serverReference())).describe(
    "Servers whose models the chat UI offers. Default: every entry of `inferenceServers` whose model writes text, and the simple server if it listens beyond loopback.",
  ),
  embeddingServer: optional(serverReference()).describe(
    "Server that turns documents into vectors for the chat UI's document search (`model.kind: embedding`). Default: the only one of that kind. Documents that were read with another model must be read again.",
  ),
  rerankServer: optional(serverReference()).describe(
    "Server that ranks the results of the document search (`model.kind: rerank`). Default: the only one of that kind.",
  ),
  taskModel: optional(
    servedName().describe(
      "Model that writes the titles, tags and follow-up questions of chats: a name that one of its servers answers to, or `none` for no titles, tags and follow-ups. Default: each chat's own model, or beside servers on request one that always runs. A model that thinks thinks for each of them, too.",
    ),
  ),
  administrator: optional(
    strictObject({
      emailVariable: variableName().describe(
        "NAME of the variable of your shell that holds the address to log in with.",
      ),
      passwordVariable: variableName().describe("NAME of the variable that holds the password."),
    }),
  ).describe(
    "The first account, an administrator, made at the first start from variables of your shell; their values are passed as files of mode 0600. Without it, the first person to sign up is the administrator. If the data already has accounts, nothing changes.",
  ),
  memoryGiB: optional(gibibytes()).describe(
    "Memory in GiB that the chat UI takes on this machine, as measured. Default: 1.2, measured on another machine.",
  ),
}).describe(
  "The browser chat UI: Open WebUI in a container. Sign-up is closed: its `administrator`, or else the first person to sign up, creates accounts for others.",
);

export type ChatUiSettings = z.output<typeof chatUiSettings>;
