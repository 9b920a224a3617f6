import * as z from "zod";
import { strictObject } from "zod";
import {
  count,
  gibibytes,
  hostPath,
  isProto,
  listenAddress,
  PROTO,
  port,
  textMatching,
  usual,
} from "../../planned/fields";

/** Form of a model's name at Ollama: `[host/][namespace/]name[:tag]`. */
const MODEL_NAME = /^[\w][\w.-]*(?::\d+)?(?:\/[\w.-]+)*(?::[\w][\w.-]*)?$/;

/**
 * A Go duration such as `5m` or `1h30m`, or whole seconds. Ollama silently takes its default for
 * anything else.
 */
const KEEP_ALIVE = /^-?(\d+|(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+)$/;

export const ollamaModelName = () =>
  textMatching(MODEL_NAME, "Expected a model name such as qwen3:8b").refine(
    (name) => !isProto(name),
    PROTO,
  );

const modelNames = z
  .array(ollamaModelName())
  .default([])
  .describe("Models that must be present, by the names that `ollama pull` uses.")
  .meta({ examples: [["qwen3:8b"]] });

const loadedGiB = z
  .record(ollamaModelName(), gibibytes().describe("Memory in GiB of this model once it is loaded."))
  .default({})
  .describe(
    "Memory in GiB that each model of `models` takes once loaded, including its context: SIZE of `ollama ps` at this `contextLength`, as `serving verify --only ollama-memory` prints it. The ledger counts the largest figure once for each model that can be loaded at once; a model without a figure causes a warning.",
  )
  .meta({ examples: [{ "qwen3:8b": 9.6 }] });

/** What is recorded of a model: that it made tool calls, and on which day. */
const SEEN = /^seen \d{4}-\d{2}-\d{2}$/;

const toolCalls = z
  .record(
    ollamaModelName(),
    textMatching(SEEN, "Expected `seen` and a day, such as seen 2026-11-21").describe(
      "The day on which this model made tool calls.",
    ),
  )
  .default({})
  .describe(
    "Models of `models` that made structured tool calls on each of Ollama's APIs, with the day; `serving verify --record` tests them and writes this. Coding clients may use only these models of Ollama.",
  )
  .meta({ examples: [{ "qwen3:8b": "seen 2026-11-21" }] });

const residentModelsGiB = gibibytes()
  .optional()
  .describe(
    "Memory in GiB of all models that are loaded at once, for the memory ledger; replaces the figure from `loadedGiB`.",
  );

const onTheHost = strictObject({
  mode: z
    .literal("host")
    .describe(
      "Where Ollama is. `host`: installed on the machine, with the keys listed here. `integrated`: inside the chat UI's container, with its models in a volume that the host does not see; accepts only `models`, `loadedGiB` and `residentModelsGiB`. `none`: there is no Ollama.",
    ),
  listen: listenAddress().describe(
    "Address that Ollama listens on (OLLAMA_HOST). `172.17.0.1`, Docker's own bridge, opens it to our containers alone, `0.0.0.0` to the network as well: Ollama never asks for a key.",
  ),
  port: usual(11434, port()).describe("TCP port that Ollama listens on (OLLAMA_HOST)."),
  modelsDirectory: hostPath(
    /^\//,
    "Expected an absolute path: Ollama runs as its own user, without your home",
  )
    .default("/usr/share/ollama/.ollama/models")
    .describe(
      "Directory of the models (OLLAMA_MODELS). It must be owned by the service's user, who must also be able to enter its parents. The default is the directory of Ollama's installer.",
    ),
  serviceUser: usual(
    "ollama",
    textMatching(/^[a-z_][a-z0-9_-]*$/, "Expected a user name"),
  ).describe("User that the service runs as; Ollama's installer creates `ollama`."),
  unit: usual(
    "ollama.service",
    textMatching(/^[\w@:.][\w@:.-]*\.service$/, "Expected a unit such as ollama.service"),
  ).describe("systemd unit of the service."),
  systemdDirectory: usual(
    "/etc/systemd/system",
    hostPath(/^\//, "Expected an absolute path"),
  ).describe("Directory of systemd's local configuration."),
  maxLoadedModels: usual(1, count(1, 16)).describe(
    "OLLAMA_MAX_LOADED_MODELS: models in memory at once. Ollama's own default is 3 per GPU, whatever else runs.",
  ),
  contextLength: usual(32_768, count()).describe(
    "OLLAMA_CONTEXT_LENGTH: context window in tokens. Always set: by default Ollama uses 256k on a machine of this size.",
  ),
  keepAlive: usual(
    "5m",
    textMatching(
      KEEP_ALIVE,
      "Expected a duration such as 5m or 1h30m, or seconds; negative means forever",
    ),
  ).describe("OLLAMA_KEEP_ALIVE: how long a model stays in memory after its last request."),
  cloud: usual(false, z.boolean()).describe(
    "Whether Ollama may use ollama.com. If false, OLLAMA_NO_CLOUD=1 is set, and no other host is asked.",
  ),
  models: modelNames,
  pull: usual(false, z.boolean()).describe(
    "Whether `up` pulls missing models. Models are never removed.",
  ),
  loadedGiB,
  toolCalls,
  residentModelsGiB,
}).describe("Ollama on the host, configured by a drop-in of its systemd unit.");

/** Settings of an Ollama inside the chat UI's container, which can't be changed. */
export const INTEGRATED = { maxLoadedModels: 1, contextLength: 32_768 } as const;

const inTheChatUi = strictObject({
  mode: z
    .literal("integrated")
    .describe(
      "Ollama runs inside the chat UI's container; its models are in a volume that the host does not see.",
    ),
  models: modelNames,
  loadedGiB,
  residentModelsGiB,
}).describe("Ollama inside the chat UI's container.");

const notHere = strictObject({
  mode: z.literal("none").describe("There is no simple server."),
}).describe("No Ollama.");

/**
 * The simple model server, Ollama. It lives on the host or in the chat UI's container, never in
 * both: models pulled in one place seem to vanish in the other.
 */
export const simpleServerSettings = z
  .discriminatedUnion("mode", [onTheHost, inTheChatUi, notHere], {
    error: "Expected `mode: host`, `mode: integrated` or `mode: none`",
  })
  .prefault({ mode: "none" })
  .describe(
    "The simple model server (Ollama): on the host, inside the chat UI's container, or none.",
  );

export type SimpleServerSettings = z.output<typeof simpleServerSettings>;

export type HostSimpleServerSettings = Extract<SimpleServerSettings, { mode: "host" }>;
