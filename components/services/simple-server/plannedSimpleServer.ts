import { type DataOf, dataOf } from "@local-serving/base/data/dataOf";
import { counted } from "@local-serving/base/faults/quoting";
import { shellWords } from "@local-serving/base/faults/shellWords";
import { hundredths } from "@local-serving/base/units/memory";
import {
  AS_DOCKERS_BRIDGE,
  DOCKERS_BRIDGE,
  isLoopback,
  originOf,
} from "@local-serving/machines/address";
import { dropInPath, environmentLine } from "../../host";
import type { FileRole, LedgerLine, PlannedFile, Reach } from "../../planned";
import { SIMPLE_SERVER } from "../../planned/fields";
import { hostSimpleServerSchema, type simpleServerSchema } from "../../planned/schema";
import type { PlannedService, ServiceContext } from "../kind";
import { type HostSimpleServerSettings, INTEGRATED, type SimpleServerSettings } from "./settings";

/** Where the simple server (Ollama) runs, and what is set on it. */
export type SimpleServerPlan = DataOf<typeof simpleServerSchema>;

/** An Ollama that is installed on the host. */
export type HostSimpleServerPlan = DataOf<typeof hostSimpleServerSchema>;

/** The blocks of a machine that the simple server reads. */
export interface SimpleServerBlocks {
  readonly simpleServer: SimpleServerSettings;
  readonly elevate: "none" | readonly string[];
  readonly chatUi?:
    | { readonly port: number; readonly connections?: readonly string[] | undefined }
    | undefined;
}

/** Ollama as a systemd unit of the host, or inside the chat UI's container. */
export function plannedSimpleServer(
  blocks: SimpleServerBlocks,
  { machine }: ServiceContext,
): PlannedService<SimpleServerPlan> | undefined {
  const { simpleServer } = blocks;
  if (simpleServer.mode === "none") return undefined;
  const common = {
    resource: `${machine}-simple-server`,
    servers: [],
    secretFiles: [],
    volumes: [],
    memory: simpleServerMemory(simpleServer),
    warnings: simpleServerWarnings(blocks),
  };
  if (simpleServer.mode === "host")
    return { ...common, ...onTheHost(machine, simpleServer, blocks) };
  const { mode, models } = simpleServer;
  return { ...common, detail: { mode, models }, inside: "chat-ui", files: [] };
}

function onTheHost(
  machineName: string,
  server: HostSimpleServerSettings,
  { elevate }: SimpleServerBlocks,
) {
  const { unit, port, listen, systemdDirectory } = server;
  const reach: Reach = {
    key: "simple-server",
    name: "simple server (Ollama)",
    address: listen,
    port,
    path: "",
  };
  const baseUrl = originOf(reach);
  const environment = environmentOf(server, listen);
  const dropIn: PlannedFile<FileRole> = {
    role: "simple-server-dropin",
    resource: `${machineName}-simple-server-drop-in`,
    partOf: `${machineName}-simple-server`,
    purpose: "Environment of Ollama, for its systemd unit.",
    path: dropInPath(systemdDirectory, unit),
    mode: "0644",
    text: dropInText(environment),
  };
  const { toolCalls, ...settings } = server;
  // Left out where nothing is recorded, so that the applied plan of such a machine stays the same.
  const recorded = Object.keys(toolCalls).length === 0 ? {} : { toolCalls };
  const given = { ...settings, ...recorded, baseUrl, environment, dropIn };
  const detail = dataOf(hostSimpleServerSchema, given);
  return {
    detail,
    files: [dropIn],
    reach,
    commands: elevate === "none" ? commandsByHand(dropIn, unit) : [],
  };
}

/**
 * Returns commands that can be copied as they are. None has a here-document, which an indented copy
 * would break.
 */
function commandsByHand(dropIn: PlannedFile<FileRole>, unit: string): string[] {
  const folder = dropIn.path.slice(0, dropIn.path.lastIndexOf("/"));
  const lines = dropIn.text.trimEnd().split("\n");
  return [
    shellWords(["sudo", "install", "-d", "-m", "0755", folder]),
    `${shellWords(["printf", "%s\\n", ...lines])} | ${shellWords(["sudo", "tee", dropIn.path])} >/dev/null`,
    `sudo systemctl daemon-reload && ${shellWords(["sudo", "systemctl", "restart", unit])}`,
  ];
}

/** Variables that Ollama is given. */
function environmentOf(
  server: HostSimpleServerSettings,
  listen: string,
): Readonly<Record<string, string>> {
  return {
    OLLAMA_CONTEXT_LENGTH: String(server.contextLength),
    // An address with its port and no scheme: `http://` without a port would mean port 80.
    OLLAMA_HOST: `${listen}:${server.port}`,
    OLLAMA_KEEP_ALIVE: server.keepAlive,
    OLLAMA_MAX_LOADED_MODELS: String(server.maxLoadedModels),
    OLLAMA_MODELS: server.modelsDirectory,
    ...(server.cloud ? {} : { OLLAMA_NO_CLOUD: "1" }),
  };
}

/** The drop-in of Ollama's unit: the vendor's own unit stays as it is. */
function dropInText(environment: Readonly<Record<string, string>>): string {
  return [
    "# Made by local-serving from simpleServer in the stack file: change it there.",
    "[Service]",
    ...Object.entries(environment).map(([name, value]) => environmentLine(name, value)),
    "",
  ].join("\n");
}

/** Name of the ledger's line for the models that Ollama has loaded. */
const LOADED_MODELS = "Ollama's loaded models";

/**
 * Counts the largest declared model as often as models are loaded at once, since Ollama loads
 * whichever is asked for.
 */
function simpleServerMemory(server: SimpleServerSettings): LedgerLine[] {
  if (server.mode === "none") return [];
  if (server.residentModelsGiB !== undefined)
    return [
      {
        name: LOADED_MODELS,
        gib: server.residentModelsGiB,
        basis: "setting",
        source: "residentModelsGiB",
      },
    ];
  const [largest] = Object.entries(server.loadedGiB).sort(([, a], [, b]) => b - a);
  if (largest === undefined) return [];
  const [model, gib] = largest;
  const { maxLoadedModels, contextLength } = server.mode === "host" ? server : INTEGRATED;
  const source = `${model}: ${gib} GiB with ${contextLength} tokens of context x ${maxLoadedModels} loaded at once`;
  return [
    { name: LOADED_MODELS, gib: hundredths(gib * maxLoadedModels), basis: "setting", source },
  ];
}

/** Returns declared models whose memory isn't declared, so that the ledger can't count them. */
function uncountedModels(server: SimpleServerSettings): string[] {
  if (server.mode === "none" || server.residentModelsGiB !== undefined) return [];
  return server.models.filter((model) => !Object.hasOwn(server.loadedGiB, model));
}

/** What an operator should know of the simple server before it runs, each with its code. */
function simpleServerWarnings(blocks: SimpleServerBlocks): [code: string, message: string][] {
  const { simpleServer, elevate, chatUi } = blocks;
  const warnings: [string, string][] = [...uncounted(blocks)];
  if (simpleServer.mode !== "host") return warnings;
  if (elevate === "none")
    warnings.push([
      "simple-server-by-hand",
      "Your Ollama keeps its settings, since `elevate` is `none`. To set its context, address and unload times from this file, run the commands that `serving plan simple-server` prints, or write `elevate: [sudo, -n]`.",
    ]);
  const { connections } = chatUi ?? {};
  if (isLoopback(simpleServer.listen)) {
    if (chatUi !== undefined && (connections === undefined || connections.includes(SIMPLE_SERVER)))
      warnings.push([
        "simple-server-on-loopback",
        `No container can reach Ollama on ${simpleServer.listen}, also not the chat UI. Write \`listen: ${DOCKERS_BRIDGE}\`, ${AS_DOCKERS_BRIDGE}, to open it to containers but not to the local network. Until then the chat UI and the bridge can't use its models.`,
      ]);
  } else if (simpleServer.listen !== DOCKERS_BRIDGE)
    warnings.push([
      "simple-server-on-lan",
      `Everyone on the local network can use Ollama, without a key. It listens on ${simpleServer.listen}:${simpleServer.port}: write \`listen: ${DOCKERS_BRIDGE}\`, ${AS_DOCKERS_BRIDGE}, to open it to containers alone.`,
    ]);
  return warnings;
}

function uncounted({ simpleServer }: SimpleServerBlocks): [code: string, message: string][] {
  const models = uncountedModels(simpleServer);
  const kept = simpleServer.mode === "host" && simpleServer.keepAlive.startsWith("-");
  const code = "simple-server-uncounted";
  if (models.length > 0) {
    const message = `Memory of ${counted(models.length, "model")} of Ollama isn't counted. Declare in \`loadedGiB\` how much each takes once loaded (\`ollama ps\`): ${models.join(", ")}.${kept ? " `keepAlive` keeps them in memory permanently." : ""}`;
    return [[code, message]];
  }
  if (!kept || simpleServerMemory(simpleServer).length > 0) return [];
  const message = `Memory of Ollama's models isn't counted, and \`keepAlive\` keeps them in it. Declare \`models\` and their \`loadedGiB\`: \`keepAlive: ${simpleServer.keepAlive}\` means permanently.`;
  return [[code, message]];
}
