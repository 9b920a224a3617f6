import { defined } from "../../faults/defined";
import { hostOnNetwork, isHere } from "../../machines/address";
import { onMachine } from "../../machines/home";
import type { Evidence } from "../planned/evidence";
import { isPooling } from "../planned/modelKind";
import type { Upstream } from "../planned/reach";
import type { DataOf } from "../planned/schema/dataOf";
import type { clientSchema } from "../planned/schema/services";
import type { ClientKind, ClientSettings } from "./kind";
import { launcherPurpose, launcherScript } from "./launcherScript";
import { CLIENTS, type ClientKey, type ClientName, type ClientRole } from "./registry";
import type { ClientsSettings } from "./settings";
import { type BridgeReach, clientTarget } from "./target";

/** A client program that is given a configuration and a launcher. */
export type ClientPlan = DataOf<typeof clientSchema>;

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
  return CLIENTS.flatMap((kind: ClientKind<ClientKey, ClientName, ClientRole>): ClientPlan[] => {
    const own: ClientSettings | undefined = settings[kind.key];
    if (own === undefined) return [];
    const server = serverOf(own, servers);
    if (server === undefined) return [];
    const target = clientTarget(own, server, bridge, at);
    const command = `${place(settings.launcherFolder)}/${kind.launcher}`;
    const file = kind.file({
      target,
      settings: own,
      folder: place(settings.folder),
      launcher: command,
      place,
    });
    const { variable, placeholder } = target.key;
    const secret = placeholder === undefined;
    const resource = `${machineName}-${kind.name}`;
    const named = (role: ClientRole) => ({
      role,
      resource: `${machineName}-${role}`,
      partOf: resource,
    });
    const purpose = `Configuration of ${kind.title}.`;
    const configuration = { purpose, path: file.path, mode: "0644", text: file.text };
    const launcher = {
      ...{ purpose: launcherPurpose(kind, target), path: command, mode: "0755" },
      text: launcherScript(kind, file, target),
    };
    return [
      {
        client: kind.name,
        resource,
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
        files: [
          { ...named(kind.role), ...configuration, ...where },
          { ...named(`launcher-${kind.name}`), ...launcher, ...where },
        ],
      },
    ];
  });
}

/** What decides which server a client talks to. */
type Answering = Pick<Upstream, "key" | "kind" | "serves">;

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
