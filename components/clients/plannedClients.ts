import type { DataOf } from "@local-serving/base/data/dataOf";
import { defined } from "@local-serving/base/faults/defined";
import { hostOnNetwork, isHere } from "@local-serving/machines/address";
import { onMachine } from "@local-serving/machines/home";
import { type Evidence, isPooling, type Upstream } from "../planned";
import type { clientSchema } from "../planned/schema";
import type { ClientFile, ClientKind, ClientSettings } from "./kind";
import { launcherPurpose, launcherScript } from "./launcherScript";
import { CLIENTS, type ClientKey, type ClientName, type ClientRole } from "./registry";
import type { ClientsSettings } from "./settings";
import { type BridgeReach, type ClientTarget, clientTarget } from "./target";

/** A client program that gets a configuration and a launcher. */
export type ClientPlan = DataOf<typeof clientSchema>;

/** A client that the registry lists. */
type PlannedKind = ClientKind<ClientKey, ClientName, ClientRole>;

/** What the clients of a machine are planned from beside its settings. */
interface ClientSurroundings {
  readonly servers: readonly Upstream[];
  readonly bridge: BridgeReach | null;
  readonly evidence: Evidence;
}

/** The clients of one machine that the stack file names. */
export function plannedClients(
  machineName: string,
  machine: { readonly dockerHost: string; readonly clients: ClientsSettings },
  { servers, bridge, evidence }: ClientSurroundings,
): ClientPlan[] {
  const { clients: settings } = machine;
  const here = settings.on === "here" && !isHere(machine);
  const home = (here ? evidence.homeHere : undefined) ?? evidence.home;
  const place = (path: string) => onMachine(path, { home });
  const where = here ? { here } : {};
  const at = { ...settings, host: here ? hostOnNetwork(machine, settings.host) : settings.host };
  return CLIENTS.flatMap((kind: PlannedKind): ClientPlan[] => {
    const own: ClientSettings | undefined = settings[kind.key];
    const server = own && serverOf(own, servers);
    if (own === undefined || server === undefined) return [];
    const target = clientTarget(own, server, bridge, at);
    const command = `${place(settings.launcherFolder)}/${kind.launcher}`;
    const folder = place(settings.folder);
    const file = kind.file({ target, settings: own, folder, launcher: command, place });
    const { variable, placeholder } = target.key;
    const secret = placeholder === undefined;
    return [
      {
        client: kind.name,
        resource: `${machineName}-${kind.name}`,
        surface: kind.surface,
        coding: kind.coding,
        server: server.key,
        serverKind: server.kind,
        via: target.via,
        baseUrl: file.baseUrl ?? target.baseUrl,
        tiers: file.tiers ?? { model: target.model },
        ...defined({ maxOutputTokens: own.maxOutputTokens }),
        key: kind.keyInFile && !secret ? null : { variable, setBy: secret ? null : command },
        names: target.names,
        command,
        files: clientFiles(machineName, { kind, file, target, command }).map((each) => ({
          ...each,
          ...where,
        })),
      },
    ];
  });
}

interface ClientMade {
  readonly kind: PlannedKind;
  readonly file: ClientFile;
  readonly target: ClientTarget;
  /** Path of its launcher. */
  readonly command: string;
}

/** The configuration that a client reads, and the launcher that starts it. */
function clientFiles(
  machineName: string,
  { kind, file, target, command }: ClientMade,
): ClientPlan["files"] {
  const named = <Role extends ClientRole>(role: Role) => ({
    role,
    resource: `${machineName}-${role}`,
    partOf: `${machineName}-${kind.name}`,
  });
  return [
    {
      ...named(kind.role),
      purpose: `Configuration of ${kind.title}.`,
      path: file.path,
      mode: "0644",
      text: file.text,
    },
    {
      ...named(`launcher-${kind.name}`),
      purpose: launcherPurpose(kind, target),
      path: command,
      mode: "0755",
      text: launcherScript(kind, file, target),
    },
  ];
}

/** What decides which server a client talks to. */
type Answering = Pick<Upstream, "key" | "kind" | "serves">;

/** The coding clients that are pointed at instance A. */
export const codingAtInstanceA = (clients: readonly ClientPlan[]): ClientPlan[] =>
  clients.filter(({ coding, serverKind }) => coding && serverKind === "instance-a");

/**
 * Names of the coding clients that are pointed at each server, by its key. It needs no server's
 * plan.
 */
export function codingClients(
  settings: ClientsSettings,
  servers: readonly Answering[],
): ReadonlyMap<string, readonly string[]> {
  const pointed = new Map<string, readonly string[]>();
  for (const { key, name, coding } of CLIENTS) {
    const own: ClientSettings | undefined = settings[key];
    const server = own && serverOf(own, servers);
    if (coding && server) pointed.set(server.key, [...(pointed.get(server.key) ?? []), name]);
  }
  return pointed;
}

/** The server that a client names, or the only one of ours that writes text. */
function serverOf<Server extends Answering>(
  { server }: ClientSettings,
  servers: readonly Server[],
): Server | undefined {
  const ours = servers.filter(
    ({ kind, serves }) => kind === "inference-server" && !isPooling(serves),
  );
  if (server === undefined) return ours.length === 1 ? ours[0] : undefined;
  return servers.find((each) => each.key === server);
}
