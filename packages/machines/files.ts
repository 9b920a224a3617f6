import {
  accessSync,
  constants,
  lstatSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  statfsSync,
  statSync,
} from "node:fs";
import { networkInterfaces } from "node:os";
import { dirname } from "node:path";
import { attempt } from "@local-serving/base/faults/defined";
import { keptText } from "@local-serving/base/faults/textFile";
import { isOverSsh, HERE as THIS_COMPUTER } from "./address";
import { ANSWER_SECONDS, askOn, type CommandPlace, commandOn } from "./onMachine";

/** The output of a program that only asks; `code` is `null` if it did not end by itself. */
export interface Said {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** What is at a path: owner, permissions and what it is. */
export interface PathState {
  readonly kind: "file" | "folder" | "other";
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
}

export interface Disk {
  readonly device: number;
  readonly freeBytes: number;
}

/** An IPv4 address with the name of its interface, and how many of its bits are the network's. */
export interface Address {
  readonly name: string;
  readonly address: string;
  readonly prefix: number;
}

/**
 * What is read of a machine's files, here or there. It only reads; what can't be read is
 * `undefined`.
 */
export interface Files {
  text(path: string): Promise<string | undefined>;
  /** What a path leads to. */
  state(path: string): Promise<PathState | "missing" | "unreadable">;
  /** Whether a path is a regular file by itself, no link. */
  isPlain(path: string): Promise<boolean>;
  /** Whether we may write in a folder, or run a program. */
  may(path: string, right: "write" | "run"): Promise<boolean>;
  realPath(path: string): Promise<string | undefined>;
  /** Names in a folder, sorted; none where it can't be read. */
  names(folder: string): Promise<readonly string[]>;
  /**
   * The file system that a path is on, and its free bytes; `undefined` where there is no such path.
   */
  disk(path: string): Promise<Disk | undefined>;
  /**
   * The sockets that processes hold open, as far as we may see them: lines `/proc/PID/fd/N
   * socket:[INODE]`.
   */
  openSockets(proc: string): Promise<readonly string[]>;
  addresses(): Promise<readonly Address[]>;
  /** Runs a program that only asks. */
  ask(words: readonly string[], seconds?: number): Promise<Said>;
}

const stateOf = (mode: number, uid: number, gid: number): PathState => {
  const type = mode & constants.S_IFMT;
  const kind =
    type === constants.S_IFREG ? "file" : type === constants.S_IFDIR ? "folder" : "other";
  return { kind, uid, gid, mode: mode & 0o7777 };
};

/** The computer that a file of a machine is written on. */
export const computerOf = (
  machine: CommandPlace,
  { here }: { readonly here?: true | undefined },
): CommandPlace => (here === true ? { dockerHost: THIS_COMPUTER } : machine);

export function filesOf(machine: CommandPlace): Files {
  const ask: Files["ask"] = async (words, seconds = ANSWER_SECONDS) => {
    const { code, out, err, notStarted, stopped } = await askOn(machine, words, { seconds });
    const all = commandOn(machine, words);
    const silent =
      stopped === "timeout"
        ? `no answer within ${seconds} s`
        : stopped === "output"
          ? "it prints more than can be read"
          : notStarted === undefined
            ? `Command failed: ${all.join(" ")}\n${err}`
            : `spawn ${all[0]} ${notStarted}`;
    return { code, out, err: err.trim() || (code === 0 ? "" : silent) };
  };
  return isOverSsh(machine) ? { ask, ...overSsh(ask) } : { ask, ...HERE };
}

// These calls are synchronous: one after the other they are quicker than through Node's threads.
const HERE: Omit<Files, "ask"> = {
  text: async (path) => keptText(path),
  state: async (path) => {
    try {
      const { mode, uid, gid } = statSync(path);
      return stateOf(mode, uid, gid);
    } catch (error) {
      return error instanceof Error && "code" in error && error.code === "ENOENT"
        ? "missing"
        : "unreadable";
    }
  },
  isPlain: async (path) => attempt(() => lstatSync(path))?.isFile() === true,
  may: async (path, right) => {
    const rights = right === "write" ? constants.W_OK | constants.X_OK : constants.X_OK;
    return attempt(() => accessSync(path, rights) === undefined) === true;
  },
  realPath: async (path) => attempt(() => realpathSync(path)),
  names: async (folder) => namesIn(folder).sort(),
  disk: async (path) => {
    const at = attempt(() => statSync(path));
    const system = attempt(() => statfsSync(path));
    return at && system && { device: at.dev, freeBytes: system.bavail * system.bsize };
  },
  addresses: async () =>
    Object.entries(networkInterfaces()).flatMap(([name, addresses = []]) =>
      addresses.flatMap(({ family, address, cidr }) =>
        family === "IPv4" ? [{ name, address, prefix: Number(cidr?.split("/")[1] ?? 32) }] : [],
      ),
    ),
  openSockets: async (proc) =>
    namesIn(proc)
      .filter((name) => /^\d+$/.test(name))
      .flatMap((pid) => namesIn(`${proc}/${pid}/fd`).map((handle) => `${proc}/${pid}/fd/${handle}`))
      .flatMap((path) => {
        const target = attempt(() => readlinkSync(path));
        return target?.startsWith("socket:") ? `${path} ${target}` : [];
      }),
};

const namesIn = (folder: string): string[] => attempt(() => readdirSync(folder)) ?? [];

/** What a command printed; `undefined` if it failed. */
type Printed = (...words: readonly string[]) => Promise<string | undefined>;

/** A pipe would keep us waiting, and a device may have no end. */
const PLAIN_TEXT = 'test -f "$1" && exec cat -- "$1"';

function overSsh(ask: Files["ask"]): Omit<Files, "ask"> {
  const run = (...words: readonly string[]) => ask(["env", "LC_ALL=C", ...words]);
  const printed: Printed = async (...words) => {
    const { code, out } = await run(...words);
    return code === 0 ? out : undefined;
  };
  return {
    text: (path) => printed("sh", "-c", PLAIN_TEXT, "sh", path),
    state: async (path) => {
      const { code, out, err } = await run("stat", "-L", "-c", "%f %u %g", "--", path);
      if (code !== 0) return /No such file/.test(err) ? "missing" : "unreadable";
      const [mode = "", uid, gid] = out.split(" ");
      return stateOf(Number.parseInt(mode, 16), Number(uid), Number(gid));
    },
    isPlain: async (path) =>
      (await printed("stat", "-c", "%f", "--", path))?.startsWith("8") === true,
    may: async (path, right) => {
      const script = `test -x "$1"${right === "write" ? ' && test -w "$1"' : ""}`;
      return (await printed("sh", "-c", script, "sh", path)) !== undefined;
    },
    addresses: () => addressesOverSsh(printed),
    realPath: async (path) => (await printed("readlink", "-e", "--", path))?.trimEnd(),
    names: async (folder) =>
      ((await printed("ls", "-A", "--", folder)) ?? "").split("\n").filter(Boolean),
    disk: (path) => diskOverSsh(path, printed),
    openSockets: async (proc) => {
      const handles = ["-maxdepth", "3", "-path", `${proc}/[0-9]*/fd/*`];
      const sockets = ["-lname", "socket:*", "-printf", "%p %l\\n"];
      // `find` fails at every folder that may not be read, and has printed the others.
      const { out } = await run("find", proc, ...handles, ...sockets);
      return out.split("\n").filter(Boolean);
    },
  };
}

async function addressesOverSsh(printed: Printed): Promise<Address[]> {
  const lines = ((await printed("ip", "-4", "-o", "address")) ?? "").split("\n");
  return lines.flatMap((line) => {
    const [, name, address, prefix = 32] =
      /^\d+: (\S+)\s+inet ([\d.]+)(?:\/(\d+))?/.exec(line) ?? [];
    return name === undefined || address === undefined
      ? []
      : [{ name, address, prefix: Number(prefix) }];
  });
}

async function diskOverSsh(path: string, printed: Printed): Promise<Disk | undefined> {
  const script = 'stat -L -c %d -- "$1" && stat -f -c "%a %S" -- "$1"';
  const [device, blocks, size] = ((await printed("sh", "-c", script, "sh", path)) ?? "")
    .split(/\s/)
    .map(Number);
  return size === undefined
    ? undefined
    : { device: Number(device), freeBytes: Number(blocks) * size };
}

/** Returns the disk that a new file at a path would go to: that of the nearest existing folder. */
export async function diskFor(path: string, files: Files): Promise<Disk | undefined> {
  for (let at = path; ; at = dirname(at)) {
    const found = await files.disk(at);
    if (found !== undefined || dirname(at) === at) return found;
  }
}
