import { PLACEHOLDER_KEY, type Upstream } from "../planned/upstream";

/** Open WebUI separates the entries of a list by this. */
const SEPARATOR = ";";

/**
 * Variables that connect Open WebUI to servers. Both kinds of connection are always said: one that is left out has a
 * default of its own, which is the network for the one and a port on the host for the other.
 */
export function connections(servers: readonly Upstream[]): Record<string, string> {
  const simple = servers.filter((server) => server.kind === "simple-server");
  const inference = servers.filter((server) => server.kind !== "simple-server");
  return {
    ENABLE_OLLAMA_API: flag(simple.length > 0),
    ENABLE_OPENAI_API: flag(inference.length > 0),
    ...(simple.length === 0
      ? {}
      : { OLLAMA_BASE_URLS: simple.map((server) => server.fromContainer).join(SEPARATOR) }),
    ...(inference.length === 0
      ? {}
      : {
          // Without /v1 it lists no model and says nothing about it.
          OPENAI_API_BASE_URLS: inference.map((server) => `${server.fromContainer}/v1`).join(SEPARATOR),
          OPENAI_API_KEYS: inference.map(() => PLACEHOLDER_KEY).join(SEPARATOR),
        }),
  };
}

function flag(on: boolean): string {
  return on ? "True" : "False";
}
