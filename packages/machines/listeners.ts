import { HERE } from "./address";
import { type Files, filesOf } from "./files";

/** A socket that listens, as the kernel lists it. */
export interface ListeningSocket {
  readonly address: string;
  readonly port: number;
  readonly inode: string;
}

/** Something that listens on a port. */
export interface Listener {
  readonly port: number;
  /** Process that listens; `undefined` when it belongs to another user. */
  readonly pid?: number;
  /** argv of the listening process; `undefined` when it belongs to another user. */
  readonly argv?: readonly string[];
}

/** State of a listening socket in /proc/net/tcp. */
const LISTENING = "0A";

/**
 * Finds what listens on the given TCP ports: process and argv. It only reads /proc, so other users'
 * processes stay unnamed.
 */
export async function readListeners(
  ports: readonly number[],
  proc = "/proc",
  files = filesOf({ dockerHost: HERE }),
): Promise<Listener[]> {
  const inodes = new Map<string, number>();
  for (const { port, inode } of await readSockets(proc, files)) {
    if (ports.includes(port)) inodes.set(inode, port);
  }
  const owners =
    inodes.size === 0
      ? new Map<string, Omit<Listener, "port">>()
      : await ownersOf(new Set(inodes.keys()), proc, files);
  const found = new Map<number, Listener>();
  for (const [inode, port] of inodes) {
    const owner = owners.get(inode);
    if (owner !== undefined || !found.has(port)) found.set(port, { port, ...owner });
  }
  return [...found.values()].sort((a, b) => a.port - b.port);
}

/** Every listening TCP socket of a computer. */
export async function readSockets(
  proc = "/proc",
  files: Pick<Files, "text"> = filesOf({ dockerHost: HERE }),
): Promise<ListeningSocket[]> {
  const tables = await Promise.all(
    [`${proc}/net/tcp`, `${proc}/net/tcp6`].map((table) => files.text(table)),
  );
  return tables.flatMap((table = "") => socketsOfProc(table));
}

/** Listening sockets in the text of /proc/net/tcp or tcp6. */
export function socketsOfProc(table: string): ListeningSocket[] {
  return table
    .split("\n")
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((columns) => columns[3] === LISTENING)
    .map((columns) => {
      const [address = "", port = "0"] = columns[1]?.split(":") ?? [];
      return {
        address: addressOf(address),
        port: Number.parseInt(port, 16),
        inode: columns[9] ?? "",
      };
    });
}

async function ownersOf(
  inodes: ReadonlySet<string>,
  proc: string,
  files: Files,
): Promise<Map<string, Omit<Listener, "port">>> {
  const found = new Map<string, Omit<Listener, "port">>();
  for (const line of await files.openSockets(proc)) {
    const [, pid, inode] = /\/(\d+)\/fd\/\d+ socket:\[(\d+)\]$/.exec(line) ?? [];
    if (inode === undefined || !inodes.has(inode) || found.has(inode)) continue;
    const argv = ((await files.text(`${proc}/${pid}/cmdline`)) ?? "").split("\0");
    if (argv.at(-1) === "") argv.pop();
    found.set(inode, { pid: Number(pid), argv });
  }
  return found;
}

/** The kernel prints each 32-bit word of an address in the order of the machine's bytes. */
function addressOf(hex: string): string {
  const words = hex.match(/.{8}/g) ?? [];
  const bytes = words.flatMap((word) => (word.match(/../g) ?? []).reverse());
  if (words.length === 1) return bytes.map((byte) => Number.parseInt(byte, 16)).join(".");
  if (bytes.every((byte) => byte === "00")) return "::";
  if (bytes.slice(0, 15).every((byte) => byte === "00") && bytes[15] === "01") return "::1";
  const mapped =
    bytes.slice(0, 10).every((byte) => byte === "00") && bytes.slice(10, 12).join("") === "FFFF";
  return mapped
    ? bytes
        .slice(12)
        .map((byte) => Number.parseInt(byte, 16))
        .join(".")
    : (bytes.join("").match(/.{4}/g) ?? []).join(":").toLowerCase();
}
