import type { Address, Files } from "@local-serving/machines/files";
import { modelFolder } from "@local-serving/machines/hubCache";
import { gatePort, type PlannedMachine, serversOn } from "../../planned";
import type { OwnPort } from "../kind";

type Ranked = Pick<PlannedMachine, "inferenceServers" | "ranks">;

/** The ranks of a machine; all of them have the same link. */
export const linkedRanks = (machine: Ranked) =>
  serversOn(machine).flatMap((server) => (server.rank ? [{ server, rank: server.rank }] : []));

/** Ports that the ranks of a machine listen on. A worker's port is set below another machine. */
export const rankPorts = (machine: Ranked): OwnPort[] =>
  linkedRanks(machine).flatMap(({ server: { key, container, reach }, rank }) => {
    const at = rank.index === 0 ? `inferenceServers.${key}` : undefined;
    const gate = {
      name: container.name,
      port: gatePort(rank.masterPort),
      setting: at && `${at}.masterPort`,
    };
    if (at === undefined) return [gate];
    return [
      gate,
      { ...gate, port: rank.masterPort },
      { ...gate, port: reach.port, setting: `${at}.port` },
    ];
  });

const ASK_SECONDS = 20;

/**
 * What /sys says, a line each with its path: it has hundreds of small files, and over ssh each
 * would be a command.
 */
const TELL =
  'cd "$1" && grep -Hs . "net/$2/operstate" "net/$2/mtu" infiniband/*/ports/1/state infiniband/*/ports/1/gids/* infiniband/*/ports/1/gid_attrs/types/*; test -e "net/$2/wireless" && echo "net/$2/wireless:yes"';

/** A machine's end of the link, as it is. */
export interface LinkFacts {
  readonly addresses: readonly Address[];
  /** The interface of the declared name, if there is one. */
  readonly interface:
    | {
        readonly state: string;
        readonly mtu: number;
        readonly wireless: boolean;
        readonly defaultRoute: boolean;
      }
    | undefined;
  readonly hcas: readonly Hca[];
  /**
   * Whether more contiguous memory (CMA) counts as free than exists: then the kernel holds it for
   * kexec.
   */
  readonly brokenCma: boolean;
  /** Commit of each rank's model in the cache, by its container, where none is pinned. */
  readonly revisions: Readonly<Record<string, string>>;
}

/**
 * An RDMA device, with the state of its first port and its RoCE v2 GIDs that are IPv4 addresses.
 */
export interface Hca {
  readonly name: string;
  readonly state: string;
  readonly gids: readonly { readonly index: number; readonly address: string }[];
}

/** Reads a machine's end of the link; `undefined` where no rank is planned. */
export async function readLink(
  machine: Ranked,
  files: Files,
  { sys = "/sys/class", proc = "/proc", meminfo = files.text(`${proc}/meminfo`) } = {},
): Promise<LinkFacts | undefined> {
  const ranked = linkedRanks(machine);
  const name = ranked[0]?.rank.link.interface;
  if (name === undefined) return undefined;
  const { out } = await files.ask(["sh", "-c", TELL, "sh", sys, name], ASK_SECONDS);
  const told = new Map(
    out.split("\n").map((line) => [line.replace(/:.*/, ""), line.replace(/^[^:]*:/, "")]),
  );
  const state = told.get(`net/${name}/operstate`);
  const routes = (await files.text(`${proc}/net/route`)) ?? "";
  // A route without destination and mask takes what no other route takes.
  const defaultRoute = new RegExp(`^${name}\\t0{8}\\t(?:\\S+\\t){5}0{8}\\t`, "m").test(routes);
  const memory = (await meminfo) ?? "";
  const kib = (field: string) =>
    Number(new RegExp(`^${field}: +(\\d+) kB$`, "m").exec(memory)?.[1] ?? 0);
  const revisions = ranked.map(async ({ server: { container, hubModels, modelCache } }) => {
    const [model] = hubModels;
    const reference = model && `${modelCache}/hub/models--${modelFolder(model.id)}/refs/main`;
    const commit = reference === undefined ? undefined : (await files.text(reference))?.trim();
    return commit === undefined || model?.revision !== undefined
      ? []
      : [[container.name, commit] as const];
  });
  const at = {
    mtu: Number(told.get(`net/${name}/mtu`)),
    wireless: told.has(`net/${name}/wireless`),
    defaultRoute,
  };
  return {
    addresses: await files.addresses(),
    interface: state === undefined ? undefined : { state, ...at },
    hcas: hcasIn(told),
    brokenCma: kib("CmaFree") > kib("CmaTotal"),
    revisions: Object.fromEntries((await Promise.all(revisions)).flat()),
  };
}

function hcasIn(told: ReadonlyMap<string, string>): Hca[] {
  return [...told].flatMap(([path, state]) => {
    const [, port, name] = /^(infiniband\/([^/]+)\/ports\/1)\/state$/.exec(path) ?? [];
    if (name === undefined) return [];
    const gids = [...told].flatMap(([path, gid]) => {
      const [, index] = path.split(`${port}/gids/`);
      const address = addressOf(gid);
      const isV2 = told.get(`${port}/gid_attrs/types/${index}`) === "RoCE v2";
      return address !== undefined && isV2 ? [{ index: Number(index), address }] : [];
    });
    return [
      { name, state: state.replace(/^\d+: /, ""), gids: gids.sort((a, b) => a.index - b.index) },
    ];
  });
}

/** The IPv4 address that a GID is made of. */
function addressOf(gid: string): string | undefined {
  const hex = /^(?:0{4}:){5}ffff:([0-9a-f]{2})([0-9a-f]{2}):([0-9a-f]{2})([0-9a-f]{2})$/
    .exec(gid)
    ?.slice(1);
  return hex?.map((byte) => Number.parseInt(byte, 16)).join(".");
}
