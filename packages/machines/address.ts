import { hostname, networkInterfaces } from "node:os";
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
  const { scheme, rest, host = "", port = "" } = partsOf(dockerHost);
  if (scheme === "unix") {
    const path = posix.normalize(`/${rest}`).replace(/\/$/, "");
    return path === "" ? DEFAULT_SOCKET : path.replace(/^\/var\/run\//, "/run/");
  }
  const named = canonicalHost(host);
  const byDefault = port === "" || Number(port) === 22;
  if (!isLoopback(named) && !ANY_ADDRESS.has(named))
    return byDefault ? named : `${named}:${Number(port)}`;
  return byDefault || scheme === "tcp" ? DEFAULT_SOCKET : `localhost:${Number(port)}`;
}

/** The parts of an engine's address; `host` is absent where a port, a bracket or a percent sign can't be read. */
function partsOf(dockerHost: string) {
  const [, scheme = "", rest = ""] = /^([a-z]+):\/\/(.*)$/is.exec(dockerHost) ?? [];
  const [authority = ""] = rest.split(/[/?#]/, 1);
  const [, host, port] = /^(?:.*@)?(\[.*\]|[^:%]*)(?::(\d*))?$/.exec(authority.toLowerCase()) ?? [];
  return { scheme: scheme.toLowerCase(), rest, host, port };
}

/** A client that asks for every address reaches this computer. */
const ANY_ADDRESS: ReadonlySet<string> = new Set(["0.0.0.0", "[::]"]);

/** What `computerAt` calls the computer that this program runs on. */
const THIS_COMPUTER = "this computer";

const LOCAL_SCHEMES: ReadonlySet<string> = new Set(["unix", "npipe", "fd"]);
const NETWORK_SCHEMES: ReadonlySet<string> = new Set(["ssh", "tcp", "http", "https"]);

/**
 * Names the computer that an engine is on, as far as its address tells: its host without user, port,
 * letter case, a last dot and `.local`, or `THIS_COMPUTER` for every socket, loopback, name and
 * address of this one. It is `undefined` where the address names no host. A name and an address of
 * one computer can't be told to be the same without asking, so they differ here.
 */
export function computerAt({ dockerHost }: { readonly dockerHost: string }): string | undefined {
  const { scheme, host } = partsOf(dockerHost.trim());
  if (LOCAL_SCHEMES.has(scheme)) return THIS_COMPUTER;
  if (!NETWORK_SCHEMES.has(scheme) || host === undefined) return undefined;
  const named = plainName(host);
  // Nothing can have such a name (RFC 2606): it stands where nobody is meant to be asked.
  if (/(^|\.)invalid$/.test(named)) return undefined;
  return leadsHere(named) ? THIS_COMPUTER : named;
}

/**
 * Whether ssh goes to another port of this computer than its own: that is how a tunnel to another
 * computer is written.
 */
export function isTunnel({ dockerHost }: { readonly dockerHost: string }): boolean {
  const { scheme, host = "", port = "" } = partsOf(dockerHost);
  return scheme === "ssh" && port !== "" && Number(port) !== 22 && isLoopback(host);
}

function leadsHere(named: string): boolean {
  return (
    named === "" ||
    isLoopback(named) ||
    ANY_ADDRESS.has(named) ||
    named === HOST_FROM_CONTAINER ||
    ownNames().has(named)
  );
}

let known: ReadonlySet<string> | undefined;

/** This computer's name, in full and without its domain, and its addresses. They are asked once. */
function ownNames(): ReadonlySet<string> {
  if (known !== undefined) return known;
  const [short = ""] = hostname().split(".");
  const addresses = Object.values(networkInterfaces()).flatMap((some = []) =>
    some.map(({ address }) => address),
  );
  known = new Set([hostname(), short, ...addresses].map(plainName));
  return known;
}

/** A host without the domain by which computers of one network announce themselves. */
const plainName = (host: string): string => canonicalHost(host).replace(/\.local$/, "");

/** A host in one form: `0x7f000001`, `127.1` and `::ffff:127.0.0.1` are 127.0.0.1. */
function canonicalHost(host: string): string {
  const bare = host.toLowerCase().replace(/^\[|\]$|%.*$/g, "");
  const url = `http://${bare.includes(":") ? `[${bare}]` : bare}`;
  const named = (URL.canParse(url) ? new URL(url).hostname : bare).replace(/\.$/, "");
  const [, ...mapped] = /^\[::ffff:([\da-f]+):([\da-f]+)\]$/.exec(named) ?? [];
  const numbers = mapped.map((half) => Number.parseInt(half, 16));
  return numbers.length === 0
    ? named
    : numbers.flatMap((half) => [Math.floor(half / 256), half % 256]).join(".");
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

/** Loopback's addresses and its names. */
const LOOPBACK =
  /^(?:127(?:\.\d+){3}|\[::1\]|(?:.+\.)?localhost[46]?(?:\.localdomain[46]?)?|ip6-(?:localhost|loopback))$/;

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
