import type { BridgePlan } from "../bridge/plannedBridge";
import { type Evidence, onMachine } from "../planned/evidence";
import type { PlannedFile } from "../planned/file";
import type { Upstream } from "../planned/upstream";
import type { ClientsSettings, ReachSettings } from "../settings/clients";
import { claudeEnvironment, claudeSettings, claudeTiers } from "./claudeCode";
import { clientEnv } from "./clientEnv";
import { codexConfig } from "./codex";
import { launcherScript } from "./launcherScript";
import { launcherOf } from "./launchers";
import { opencodeConfig } from "./opencode";
import { piModels } from "./pi";
import { qwenCodeSettings } from "./qwenCode";
import { type ClientTarget, clientTarget } from "./target";

export type ClientName = "claude-code" | "codex" | "client-env" | "opencode" | "pi" | "qwen-code";
/** A client program that is given a configuration and a launcher. */
export interface ClientPlan {
  readonly client: ClientName;
  /** Name of the resource in the stack. */
  readonly resource: string;
  /** Whether it works only with structured tool calls. */
  readonly coding: boolean;
  /** Key of the server that answers it in the end. */
  readonly server: string;
  readonly serverKind: "inference-server" | "instance-a" | "simple-server";
  readonly via: "bridge" | "native";
  /** Base URL as it stands in its file. */
  readonly baseUrl: string;
  /** Each model variable of its file with the name that it asks for. */
  readonly tiers: Readonly<Record<string, string>>;
  /** Names that what it talks to answers to; empty where none is known, and one may end in `*`. */
  readonly names: readonly string[];
  /** Launcher that starts it. */
  readonly command: string;
  readonly files: readonly PlannedFile[];
}

/** A client's own part: the file it reads, and what a policy has to know beyond its target. */
interface Rendered {
  readonly role: string;
  /** Folder and name of the file. */
  readonly folder: string;
  readonly file: string;
  readonly text: (launcher: string) => string;
  /** Base URL and models as they stand in the file. */
  readonly baseUrl: string;
  readonly tiers: Readonly<Record<string, string>>;
}

/** Every client of one machine that is given a configuration and a launcher. */
export function plannedClients(
  machineName: string,
  settings: ClientsSettings,
  servers: readonly Upstream[],
  bridge: BridgePlan | null,
  evidence: Evidence,
): ClientPlan[] {
  const folder = onMachine(settings.folder, evidence);
  const bin = onMachine(settings.launcherFolder, evidence);
  const planned = <S extends ReachSettings>(
    client: ClientName,
    given: S | undefined,
    render: (target: ClientTarget, given: S) => Rendered,
  ): ClientPlan[] => {
    if (given === undefined) return [];
    const server = serverOf(given, servers);
    if (server === undefined) return [];
    const target = clientTarget(given, server, bridge, settings);
    return [clientPlan(machineName, client, target, render(target, given), bin, settings)];
  };
  const simple = (target: ClientTarget) => ({
    folder,
    baseUrl: `${target.origin}/v1`,
    tiers: { model: target.model },
  });

  return [
    ...planned("claude-code", settings.claudeCode, (target, given) => {
      const environment = claudeEnvironment(target, given);
      return {
        role: "claude-code-settings",
        folder,
        file: "claude-code.settings.json",
        text: () => claudeSettings(environment),
        baseUrl: environment.ANTHROPIC_BASE_URL ?? "",
        tiers: claudeTiers(environment),
      };
    }),
    ...planned("codex", settings.codex, (target, given) => ({
      ...simple(target),
      role: "codex-config",
      folder: onMachine(given.home, evidence),
      file: `${given.profile}.config.toml`,
      text: (launcher) => codexConfig(target, launcher),
    })),
    ...planned("client-env", settings.clientEnv, (target) => ({
      ...simple(target),
      role: "client-env",
      file: "client.env",
      text: () => clientEnv(target),
    })),
    ...planned("opencode", settings.opencode, (target, given) => ({
      ...simple(target),
      role: "opencode-config",
      file: "opencode.json",
      text: () => opencodeConfig(target, given),
    })),
    ...planned("pi", settings.pi, (target, given) => ({
      ...simple(target),
      role: "pi-models",
      // The folder is pi's own: it keeps its sessions there.
      folder: `${folder}/pi`,
      file: "models.json",
      text: () => piModels(target, given),
    })),
    ...planned("qwen-code", settings.qwenCode, (target, given) => ({
      ...simple(target),
      role: "qwen-code-settings",
      file: "qwen-code.settings.json",
      text: () => qwenCodeSettings(target, given),
    })),
  ];
}

/** The server that a client names, or the only one that is ours. */
function serverOf({ server }: ReachSettings, servers: readonly Upstream[]): Upstream | undefined {
  const ours = servers.filter((each) => each.kind === "inference-server");
  if (server === undefined) return ours.length === 1 ? ours[0] : undefined;
  return servers.find((each) => each.key === server);
}

function clientPlan(
  machineName: string,
  client: ClientName,
  target: ClientTarget,
  rendered: Rendered,
  bin: string,
  settings: ClientsSettings,
): ClientPlan {
  const config = `${rendered.folder}/${rendered.file}`;
  const launcher = launcherOf(client, target, {
    config,
    folder: rendered.folder,
    codexProfile: settings.codex?.profile ?? "",
  });
  const path = `${bin}/${launcher.name}`;
  const files: PlannedFile[] = [
    { role: rendered.role, path: config, mode: "0644", text: rendered.text(path) },
    { role: `launcher-${client}`, path, mode: "0755", text: launcherScript(launcher, target) },
  ];
  return {
    client,
    resource: `${machineName}-${client}`,
    // Only what asks a model to call tools is a coding client; any program may read the variables.
    coding: client !== "client-env",
    server: target.server.key,
    serverKind: target.server.kind,
    via: target.via,
    baseUrl: rendered.baseUrl,
    tiers: rendered.tiers,
    names: target.names,
    command: path,
    files,
  };
}
