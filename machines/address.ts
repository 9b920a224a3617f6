import { posix } from "node:path";

/**
 * Whether a machine is this computer: its Docker engine listens on a socket file here. For any
 * other machine, what is read here (memory, ports, folders, processes) is wrong.
 */
export const isHere = ({ dockerHost }: { readonly dockerHost: string }): boolean =>
  !isOverSsh({ dockerHost });

/**
 * Whether a machine is reached over ssh. Then commands on the machine do all reading and writing
 * there.
 */
export function isOverSsh({ dockerHost }: { readonly dockerHost: string }): boolean {
  return dockerHost.startsWith("ssh://");
}

const DEFAULT_SOCKET = "/run/docker.sock";

/**
 * One name for every way to write the address of a Docker engine, so that two machines on one
 * engine are seen: user, slashes, letter case, the form of a number and the default port make no
 * difference, and /var/run is /run. Every engine of this computer's network that is reached by
 * `tcp://` counts as its usual one.
 */
export function canonicalEngine({ dockerHost }: { readonly dockerHost: string }): string {
  const [, scheme = "", rest = ""] = /^([a-z]+):\/\/(.*)$/s.exec(dockerHost) ?? [];
  if (scheme === "unix") {
    const path = posix.normalize(`/${rest}`).replace(/\/$/, "");
    return path === "" ? DEFAULT_SOCKET : path.replace(/^\/var\/run\//, "/run/");
  }
  const [authority = ""] = rest.split(/[/?#]/, 1);
  const [, host = "", port = ""] =
    /^(?:.*@)?(\[.*\]|[^:]*)(?::(\d*))?$/.exec(authority.toLowerCase()) ?? [];
  const named = canonicalHost(host);
  const byDefault = port === "" || Number(port) === 22;
  // A client that asks for every address reaches this computer.
  if (!isLoopback(named) && !["0.0.0.0", "[::]"].includes(named))
    return byDefault ? named : `${named}:${Number(port)}`;
  return byDefault || scheme === "tcp" ? DEFAULT_SOCKET : `localhost:${Number(port)}`;
}

/** A host in one form: `0x7f000001` and `127.1` are 127.0.0.1. */
function canonicalHost(host: string): string {
  const bare = host.toLowerCase().replace(/^\[|\]$|%.*$/g, "");
  const url = `http://${bare.includes(":") ? `[${bare}]` : bare}`;
  return (URL.canParse(url) ? new URL(url).hostname : bare).replace(/\.$/, "");
}

/** The usual Docker engine of this computer. */
export const HERE = "unix:///var/run/docker.sock";

/** Name by which a container reaches the machine that it runs on. */
export const HOST_FROM_CONTAINER = "host.docker.internal";

/** Every address of a machine. */
export const EVERY_ADDRESS = "0.0.0.0";

/**
 * A machine's address on Docker's own bridge, unless the daemon's `bip` says another. All of its
 * containers reach it, whatever network they are on, and no other computer does.
 */
export const DOCKERS_BRIDGE = "172.17.0.1";

/** What that address is, in words. */
export const AS_DOCKERS_BRIDGE =
  "the address of Docker's own bridge (`ip -4 address show docker0`)";

/** Address and port that something listens on. */
export interface Listening {
  readonly address: string;
  readonly port: number;
  /** Whether the address is on a link between machines. */
  readonly onLink?: true;
}

/** Loopback's addresses, also as IPv6 has those of IPv4, and its names. */
const LOOPBACK =
  /^(?:127(?:\.\d+){3}|\[::1\]|\[::ffff:7f[\da-f]{2}:[\da-f]{1,4}\]|(?:.+\.)?localhost(?:\.localdomain)?|ip6-(?:localhost|loopback))$/;

/** `true` for an address, in any form, that only the machine itself can reach. */
export const isLoopback = (address: string): boolean => LOOPBACK.test(canonicalHost(address));

/**
 * Whether no computer on the network reaches it: it listens on loopback, on Docker's own bridge, or
 * on a link between machines.
 */
export const isClosed = ({ address, onLink }: Listening): boolean =>
  isLoopback(address) || address === DOCKERS_BRIDGE || onLink === true;

/**
 * Name by which other computers reach a machine: the one that is declared, else the one that ssh is
 * given.
 */
export function hostOnNetwork(
  { dockerHost }: { readonly dockerHost: string },
  declared: string | undefined,
): string | undefined {
  const host = declared ?? (isOverSsh({ dockerHost }) ? new URL(dockerHost).hostname : undefined);
  return host === undefined || isLoopback(host) ? undefined : host;
}

/**
 * Returns scheme, host and port as a program reaches them: one on the machine, or one that knows
 * the machine as `host`.
 */
export function originOf({ address, port, onLink }: Listening, host?: string): string {
  return `http://${(onLink ? address : host) ?? (address === EVERY_ADDRESS ? "127.0.0.1" : address)}:${port}`;
}

/**
 * The same for a container on the machine. It can't reach loopback: there the origin says where to
 * listen instead.
 */
export function originFromContainer(listening: Listening): string {
  const { address } = listening;
  return originOf(
    listening,
    address === EVERY_ADDRESS || isLoopback(address) ? HOST_FROM_CONTAINER : address,
  );
}
