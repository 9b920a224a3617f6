import { dropInPath, environmentLine, shellWords } from "../host/text";
import type { LedgerLine } from "../planned/facts";
import type { FileRole, PlannedFile } from "../planned/file";
import { originOf, type Reach } from "../planned/reach";
import type { MachineSettings } from "../settings/machine";
import type { HostSimpleServerSettings } from "../settings/simpleServer";
import { simpleServerMemory } from "./memory";

/** Where the simple server (Ollama) is, and what is set of it. */
export type SimpleServerPlan =
  | { readonly mode: "none" }
  | { readonly mode: "integrated"; readonly models: readonly string[] }
  | HostSimpleServerPlan;
/** An Ollama that is installed on the host. */
export interface HostSimpleServerPlan {
  readonly mode: "host";
  /** systemd unit of the service. */
  readonly unit: string;
  /** Address and port that it listens on. */
  readonly listen: string;
  readonly port: number;
  /** Where it is reached from the machine itself. */
  readonly baseUrl: string;
  readonly modelsDirectory: string;
  /** User that the service runs as, who must own the directory. */
  readonly serviceUser: string;
  readonly models: readonly string[];
  /** Memory in GiB of a loaded model, its context included, where it is declared. */
  readonly loadedGiB: Readonly<Record<string, number>>;
  /** Whether missing models are pulled. */
  readonly pull: boolean;
  /** Drop-in of the unit. */
  readonly dropIn: PlannedFile<FileRole>;
}

/** First version with the messages-style surface (`/v1/messages`). */
export const OLLAMA_FLOOR = "0.14.0";

/** Everything that the simple server adds to the plan of its machine. */
export interface PlannedSimpleServer {
  readonly simpleServer: SimpleServerPlan;
  readonly files: readonly PlannedFile<FileRole>[];
  readonly reach: readonly Reach[];
  readonly memory: readonly LedgerLine[];
  /** What the operator has to run, where nothing of ours may. */
  readonly commands: readonly string[];
}

export function plannedSimpleServer(machine: MachineSettings): PlannedSimpleServer {
  const { simpleServer } = machine;
  if (simpleServer.mode === "none") {
    return { simpleServer: { mode: "none" }, files: [], reach: [], memory: [], commands: [] };
  }
  const memory = simpleServerMemory(simpleServer);
  if (simpleServer.mode === "integrated") {
    const { mode, models } = simpleServer;
    return { simpleServer: { mode, models }, files: [], reach: [], memory, commands: [] };
  }
  return { ...onTheHost(simpleServer, machine), memory };
}

function onTheHost(
  server: HostSimpleServerSettings,
  machine: MachineSettings,
): Omit<PlannedSimpleServer, "memory"> {
  const { unit, port, listen, modelsDirectory, serviceUser, models, loadedGiB, pull, systemdDirectory } =
    server;
  const reach: Reach = { name: "simple server (Ollama)", address: listen, port, path: "" };
  const baseUrl = originOf(reach);
  const dropIn: PlannedFile<FileRole> = {
    role: "simple-server-dropin",
    path: dropInPath(systemdDirectory, unit),
    mode: "0644",
    text: simpleServerDropIn(server, listen),
  };
  return {
    simpleServer: {
      mode: "host",
      unit,
      listen,
      port,
      baseUrl,
      modelsDirectory,
      serviceUser,
      models,
      loadedGiB,
      pull,
      dropIn,
    },
    files: [dropIn],
    reach: [reach],
    commands: machine.elevate === "none" ? commandsByHand(dropIn, unit) : [],
  };
}

/** Each can be copied as it is; none has a here-document, which an indented copy would break. */
function commandsByHand(dropIn: PlannedFile<FileRole>, unit: string): string[] {
  const folder = dropIn.path.slice(0, dropIn.path.lastIndexOf("/"));
  const lines = dropIn.text.trimEnd().split("\n");
  return [
    shellWords(["sudo", "install", "-d", "-m", "0755", folder]),
    `${shellWords(["printf", "%s\\n", ...lines])} | ${shellWords(["sudo", "tee", dropIn.path])} >/dev/null`,
    `sudo systemctl daemon-reload && ${shellWords(["sudo", "systemctl", "restart", unit])}`,
  ];
}

/** The drop-in of Ollama's unit: the vendor's own unit stays as it is. */
function simpleServerDropIn(server: HostSimpleServerSettings, listen: string): string {
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
