import { everyName, PLACEHOLDER_KEY, type Upstream } from "../../planned";
import { type FromFiles, ON_DEMAND_KEY_INSIDE, textOfFile } from "../kind";

/** Open WebUI separates the entries of a list by this. */
const SEPARATOR = ";";

/**
 * Variables that connect Open WebUI to servers. Both kinds of connection are always set. A variable
 * that is left out has a default: one asks the network, the other a port of the host.
 */
export function connections(servers: readonly Upstream[]): Record<string, string> {
  const simple = servers.filter((server) => server.kind === "simple-server");
  const inference = onceOnDemand(servers.filter((server) => server.kind !== "simple-server"));
  return {
    ENABLE_OLLAMA_API: flag(simple.length > 0),
    ENABLE_OPENAI_API: flag(inference.length > 0),
    ...(simple.length === 0
      ? {}
      : { OLLAMA_BASE_URLS: simple.map((server) => server.fromContainer).join(SEPARATOR) }),
    ...(inference.length === 0
      ? {}
      : {
          // Without /v1, Open WebUI lists no model and reports no error.
          OPENAI_API_BASE_URLS: inference
            .map((server) => `${server.fromContainer}/v1`)
            .join(SEPARATOR),
          OPENAI_API_KEYS: inference.map(keyOf).join(SEPARATOR),
        }),
  };
}

/** Servers of pooling models that search documents. */
export type SearchServers = { readonly embedding?: Upstream; readonly rerank?: Upstream };

/** llama-swap lists the models of all its servers, so it is connected once. */
function onceOnDemand(servers: readonly Upstream[]): Upstream[] {
  const first = servers.find(({ onDemand }) => onDemand);
  return servers.filter((server) => !server.onDemand || server === first);
}

/**
 * Limits what is offered of llama-swap to `servers`, where it has others of the machine too: it
 * lists models that write no text as well.
 */
export function onDemandModels(
  servers: readonly Upstream[],
  known: readonly Upstream[],
): Record<string, string> {
  const offered = servers.filter(({ onDemand }) => onDemand);
  const all = known.filter(({ onDemand }) => onDemand);
  if (offered.length === 0 || offered.length === all.length) return {};
  const index = onceOnDemand(servers.filter(({ kind }) => kind !== "simple-server")).findIndex(
    ({ onDemand }) => onDemand,
  );
  const config = { [index]: { model_ids: offered.flatMap(everyName) } };
  return { OPENAI_API_CONFIGS: JSON.stringify(config) };
}

/** What stands for llama-swap's key until the entrypoint reads it: a word of the shell. */
const ON_DEMAND_KEY = textOfFile(ON_DEMAND_KEY_INSIDE);

const keyOf = ({ onDemand }: Upstream): string => (onDemand ? ON_DEMAND_KEY : PLACEHOLDER_KEY);

/** Tells variables with a key in them, which the entrypoint sets, from the others. */
export function withKeys(variables: Readonly<Record<string, string>>) {
  const isKeyed = ([, value]: readonly [string, string]) => value.includes(ON_DEMAND_KEY);
  const all = Object.entries(variables);
  return {
    plain: Object.fromEntries(all.filter((each) => !isKeyed(each))),
    fromFiles: all
      .filter(isKeyed)
      .map(([variable, value]): FromFiles => ({ variable, value: `"${value}"` })),
  };
}

/** Setting of a chat UI that writes no titles, tags and follow-ups. */
const NO_TASKS = "none";

/**
 * Who writes titles and tags: the model that the stack file names, or nobody. Open WebUI takes the
 * first variable for chats with a model of Ollama's, and the other for all others.
 */
export const chosenTaskModel = (name: string): Record<string, string> =>
  name === NO_TASKS
    ? {
        ENABLE_FOLLOW_UP_GENERATION: "False",
        ENABLE_TAGS_GENERATION: "False",
        ENABLE_TITLE_GENERATION: "False",
      }
    : { TASK_MODEL: name, TASK_MODEL_EXTERNAL: name };

/** Whether a server of the chat UI answers to the model that is to write titles. */
export const hasTaskModel = (name: string, servers: readonly Upstream[]): boolean =>
  name === NO_TASKS || servers.some((server) => everyName(server).includes(name));

/**
 * Who writes titles and tags: a model that always runs. Else each would start the server of the
 * chat again, or stop it for another.
 */
export function taskModel(servers: readonly Upstream[]): Record<string, string> {
  const resident = servers.find(
    ({ kind, start, serves }) =>
      kind !== "simple-server" && start === undefined && serves === "chat",
  );
  const name = resident?.names[0];
  return name === undefined ? {} : { TASK_MODEL_EXTERNAL: name };
}

/**
 * Variables by which Open WebUI searches documents with our servers. Reranking belongs to its
 * hybrid search.
 */
export function documentSearch({ embedding, rerank }: SearchServers): Record<string, string> {
  return {
    ...(embedding === undefined
      ? {}
      : {
          RAG_EMBEDDING_ENGINE: "openai",
          RAG_EMBEDDING_MODEL: embedding.names[0] ?? "",
          RAG_OPENAI_API_BASE_URL: `${embedding.fromContainer}/v1`,
          RAG_OPENAI_API_KEY: keyOf(embedding),
        }),
    ...(rerank === undefined
      ? {}
      : {
          ENABLE_RAG_HYBRID_SEARCH: "True",
          RAG_RERANKING_ENGINE: "external",
          RAG_RERANKING_MODEL: rerank.names[0] ?? "",
          RAG_EXTERNAL_RERANKER_URL: `${rerank.fromContainer}/v1/rerank`,
          RAG_EXTERNAL_RERANKER_API_KEY: keyOf(rerank),
        }),
  };
}

const flag = (on: boolean): string => (on ? "True" : "False");
