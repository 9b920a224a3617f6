import { originFromContainer } from "@local-serving/machines/address";
import type { Upstream } from "../../planned";
import { SIMPLE_SERVER } from "../../planned/fields";
import { type ServiceFault, service } from "../kind";
import { plannedSimpleServer, type SimpleServerBlocks } from "./plannedSimpleServer";
import { simpleServerSettings as settings } from "./settings";

/** The simple model server, Ollama: the host's own, or inside the chat UI's container. */
export const simpleServer = service({
  key: "simpleServer",
  name: SIMPLE_SERVER,
  title: "Ollama",
  component: "local-serving:index:SimpleServer",
  settings,
  image: { repository: /(^|\/)ollama/i, package: "ollama" },
  starts: { least: 1, most: 20, source: "Ollama takes one or two seconds to listen" },
  takenOver: ({ variables }) => ({
    maxLoadedModels: Number(variables.get("OLLAMA_MAX_LOADED_MODELS")),
    contextLength: Number(variables.get("OLLAMA_CONTEXT_LENGTH")),
    keepAlive: variables.get("OLLAMA_KEEP_ALIVE"),
  }),
  onMachine:
    "Install Ollama on the machine and write `simpleServer: { mode: host }`: it runs there, and not in a container.",
  offers,
  faults,
  plan: plannedSimpleServer,
});

function offers({ simpleServer: block }: SimpleServerBlocks): Upstream | undefined {
  if (block.mode !== "host") return undefined;
  const { listen: address, port, models: names, contextLength: maxModelLen } = block;
  const fromContainer = originFromContainer({ address, port });
  return {
    key: SIMPLE_SERVER,
    kind: "simple-server",
    serves: "chat",
    names,
    maxModelLen,
    fromContainer,
    address,
    port,
    container: undefined,
  };
}

function faults({ simpleServer: block, chatUi }: SimpleServerBlocks): ServiceFault[] {
  const { models = [], loadedGiB = {} } = block.mode === "none" ? {} : block;
  const { toolCalls = {} } = block.mode === "host" ? block : {};
  const notThere = (of: object) => Object.keys(of).filter((name) => !models.includes(name));
  return [
    ...notThere(loadedGiB).map((model) => ({
      path: ["simpleServer", "loadedGiB", model],
      code: "unknown_reference",
      message: `\`${model}\` is not one of the simple server's \`models\`.`,
    })),
    ...notThere(toolCalls).map((model) => ({
      path: ["simpleServer", "toolCalls", model],
      code: "unknown_reference",
      message: `\`${model}\` is not one of the simple server's \`models\`. List it there, or remove this line.`,
    })),
    ...(block.mode === "integrated" && chatUi === undefined
      ? [
          {
            path: ["chatUi"],
            code: "missing_key",
            message:
              "With `mode: integrated` the simple server runs inside the chat UI's container: declare the chat UI, with an image that contains Ollama (`...-ollama`).",
          },
        ]
      : []),
  ];
}
