import { environmentLine } from "../host/systemdText";
import type { HostSimpleServerSettings } from "../settings/simpleServer";

/** The drop-in of Ollama's unit: the vendor's own unit stays as it is. */
export function simpleServerDropIn(server: HostSimpleServerSettings, listen: string): string {
  const environment: Record<string, string> = {
    OLLAMA_CONTEXT_LENGTH: String(server.contextLength),
    // An address with its port and no scheme: `http://` without a port would mean port 80.
    OLLAMA_HOST: `${listen}:${server.port}`,
    OLLAMA_KEEP_ALIVE: server.keepAlive,
    OLLAMA_MAX_LOADED_MODELS: String(server.maxLoadedModels),
    OLLAMA_MODELS: server.modelsDirectory,
    ...(server.cloud ? {} : { OLLAMA_NO_CLOUD: "1" }),
  };
  return [
    "# Made by local-serving from simpleServer in the stack file: change it there.",
    "[Service]",
    ...Object.entries(environment).map(([name, value]) => environmentLine(name, value)),
    "",
  ].join("\n");
}
