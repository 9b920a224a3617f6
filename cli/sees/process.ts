import type { Files } from "@local-serving/machines/files";
import {
  type Listener,
  type ListeningSocket,
  readListeners,
  readSockets,
} from "@local-serving/machines/listeners";
import { processStatIn } from "@local-serving/machines/processStat";

/** The processes of a machine and its sockets, as far as the kernel lets us see them. */
export interface Processes {
  /** Every TCP socket that listens. */
  sockets(): Promise<readonly ListeningSocket[]>;
  /** What listens on these TCP ports. */
  listeners(ports: readonly number[]): Promise<readonly Listener[]>;
  /** The process that listens on a TCP port. */
  listener(port: number): Promise<Omit<Listener, "port"> | undefined>;
  /** Start time of a process in ticks since boot: the same number means the same process. */
  startTime(pid: number): Promise<string | undefined>;
  /** Memory in GiB that a process holds by itself (VmRSS). */
  residentGiB(pid: number): Promise<number | undefined>;
}

const KIB_PER_GIB = 1024 ** 2;

export function processesOn(files: Files, proc: string): Processes {
  return {
    sockets: () => readSockets(proc, files),
    listeners: (ports) => readListeners(ports, proc, files),
    listener: async (port) => (await readListeners([port], proc, files))[0],
    startTime: async (pid) => processStatIn((await files.text(`${proc}/${pid}/stat`)) ?? "").start,
    residentGiB: async (pid) => {
      const text = (await files.text(`${proc}/${pid}/status`)) ?? "";
      const kib = /^VmRSS:\s+(\d+) kB$/m.exec(text)?.[1];
      return kib === undefined ? undefined : Number(kib) / KIB_PER_GIB;
    },
  };
}
