import { createReadStream, statSync } from "node:fs";
import { defined } from "@local-serving/base/faults/defined";
import { UnreadableInput } from "@local-serving/base/faults/fault";
import { objectOr, objectsIn } from "@local-serving/base/faults/json";
import { readJsonFile } from "@local-serving/base/faults/jsonDocument";
import { readBytes, readFailure } from "@local-serving/base/faults/textFile";
import type { Listening } from "@local-serving/machines/address";
import { containersOf } from "@local-serving/machines/docker/containers";
import { meminfoIn } from "../../plan/meminfoFile";
import { type Picture, type ProbeSeen, probeSeen } from "../../rules/picture";
import { SIGNS } from "../../rules/registry";
import { decoderOf, type LogReading, scanLog } from "../../sees/log/scanLog";
import { scanProgram } from "../../sees/log/scanProgram";
import { lastStartIn } from "../../sees/log/starts";

/** Files that a user gives, so that a machine can be helped from afar. */
export interface GivenFiles extends Readonly<Partial<Record<(typeof GIVEN)[number], string>>> {
  readonly log?: readonly string[];
}

export const GIVEN = ["meminfo", "dmesg", "inspect", "listeners", "verify"] as const;

/** Reads the files that were given and nothing else. Throws `UnreadableInput`. */
export async function fromFiles(files: GivenFiles): Promise<Omit<Picture, "stack" | "serverKey">> {
  const logs: LogReading[] = [];
  for (const file of files.log ?? []) logs.push(await scanFile(file, "file"));
  if (files.dmesg !== undefined) logs.push(await scanFile(files.dmesg, "kernel"));
  const isAlone = GIVEN.every((name) => name === "dmesg" || files[name] === undefined);
  const [first] = logs.filter(({ empty }) => empty);
  if (isAlone && first !== undefined && logs.every(({ empty }) => empty))
    throw new UnreadableInput(first.name, whyEmpty(first));
  const probes = read(files.verify, readProbes);
  if (probes !== undefined) logs.push(await scanProbes(probes));
  return {
    logs,
    ...defined({
      meminfo: read(files.meminfo, (file) => meminfoIn(file, textOf(file))),
      containers: read(files.inspect, readInspect),
      sockets: read(files.listeners, (file) => socketsOfSs(textOf(file))),
      probes,
    }),
  };
}

const read = <Value>(
  file: string | undefined,
  reader: (file: string) => Value,
): Value | undefined => (file === undefined ? undefined : reader(file));

/** Says of a log without a word that it shows nothing, and how the log is read or saved. */
function whyEmpty({ name, kind }: LogReading): string {
  if (kind === "kernel")
    return "is empty, so it shows nothing. `sudo journalctl --dmesg > dmesg.txt` saves the kernel's log.";
  const how = name === STDIN ? "2>&1 | serving doctor --log -` reads" : "> server.log 2>&1` saves";
  return `is empty, so it shows nothing. \`docker logs CONTAINER ${how} the log of a container, also of one that ended; without \`2>&1\` most of it is missing. \`docker ps --all\` lists the names.`;
}

/** Says which of the given logs are empty, where others or files were judged. */
export const emptyNotes = (logs: readonly LogReading[]): string[] =>
  logs.flatMap((log) =>
    log.empty && log.kind !== "probes" ? [`${log.name}: ${whyEmpty(log)}`] : [],
  );

/**
 * Most of a log that is read, in bytes; of a larger one its last start and the newest part say what
 * is wrong.
 */
const READ_WHOLE_BYTES = 64 * 1024 ** 2;
const HEAD_BYTES = 8 * 1024 ** 2;

const AT_ONCE_BYTES = 256 * 1024;

/** The name of our own stdin in what is said. */
const STDIN = "stdin";

/** Each name of our own stdin, which a program that we start doesn't have. */
const OWN_STDIN = /^(?:-|\/dev\/stdin|\/dev\/fd\/0|\/proc\/self\/fd\/0)$/;

async function scanFile(file: string, kind: LogReading["kind"]): Promise<LogReading> {
  if (OWN_STDIN.test(file)) return scanStdin(kind);
  try {
    const found = statSync(file);
    if (found.isDirectory()) throw new UnreadableInput(file, "is a directory, not a file");
    if (!found.isFile()) {
      // A pipe or a device is read by another program, which can be ended: a read of our own that
      // waits can't be.
      const log = await scanProgram({ name: file, kind }, ["cat", "--", file], SIGNS);
      if (log === undefined) throw new UnreadableInput(file, "gave nothing that could be read");
      return log;
    }
    const { size } = found;
    const start = size <= READ_WHOLE_BYTES ? 0 : await lastStartIn(bytesOf(file, [{}]));
    if (size - start <= READ_WHOLE_BYTES)
      return await scanLog({ name: file, kind }, bytesOf(file, [{ start }]), SIGNS);
    const spans = [
      { start, end: start + HEAD_BYTES - 1 },
      { start: size - (READ_WHOLE_BYTES - HEAD_BYTES) },
    ];
    const log = await scanLog({ name: file, kind }, bytesOf(file, spans), SIGNS);
    const first = start === 0 ? "" : ` since the last start`;
    const left = `of ${size} bytes the first ${HEAD_BYTES}${first} and the last ${READ_WHOLE_BYTES - HEAD_BYTES} were read`;
    return { ...log, cutShort: log.cutShort === undefined ? left : `${left}; ${log.cutShort}` };
  } catch (error) {
    if (error instanceof UnreadableInput) throw error;
    throw new UnreadableInput(file, readFailure(error));
  }
}

/** Parts of a file, one behind the other and each beginning a line of its own. */
async function* bytesOf(
  file: string,
  spans: readonly { readonly start?: number; readonly end?: number }[],
) {
  for (const [index, span] of spans.entries()) {
    if (index > 0) yield Buffer.from("\n");
    const stream = createReadStream(file, { ...span, highWaterMark: AT_ONCE_BYTES });
    try {
      for await (const chunk of stream) yield chunk as Buffer;
    } finally {
      stream.destroy();
    }
  }
}

async function scanStdin(kind: LogReading["kind"]): Promise<LogReading> {
  if (process.stdin.isTTY)
    throw new UnreadableInput("--log -", "stdin is a terminal; pipe a log into it");
  try {
    return await scanLog({ name: STDIN, kind }, process.stdin, SIGNS);
  } finally {
    // One that is still open would keep this program alive.
    process.stdin.destroy();
  }
}

/**
 * What failed probes say is read like a log: a probe shows the same texts. A failure that `verify`
 * has explained has no other cause.
 */
export function scanProbes(probes: readonly ProbeSeen[]): Promise<LogReading> {
  const failed = probes.filter(({ status, cause }) => status === "fail" && cause === undefined);
  const lines = failed.map(
    ({ name, detail }) => `probe ${name}: ${detail.replaceAll("\n", " ")}\n`,
  );
  return scanLog({ name: "serving verify", kind: "probes" }, lines, SIGNS);
}

function readInspect(file: string) {
  const containers = containersOf(readJsonFile(file).value);
  if (containers.length === 0)
    throw new UnreadableInput(
      file,
      "holds no container; expected what `docker inspect CONTAINER` prints",
    );
  return containers;
}

function readProbes(file: string): ProbeSeen[] {
  const { probes } = objectOr(readJsonFile(file).value);
  if (!Array.isArray(probes))
    throw new UnreadableInput(
      file,
      "has no list `probes`; expected what `serving verify --format json` prints",
    );
  return objectsIn(probes).flatMap((each) => probeSeen.safeParse(each).data ?? []);
}

/** A copy of a program's output, however it was saved: PowerShell writes UTF-16. */
const textOf = (file: string): string => decoderOf()(readBytes(file)).replace(/^\ufeff/, "");

/** Listening sockets in what `ss -lntp` prints. */
export function socketsOfSs(text: string): Listening[] {
  return text.split("\n").flatMap((line) => {
    const match = /^(?:tcp\s+)?LISTEN\s+\d+\s+\d+\s+(\S+):(\d+)\s/.exec(`${line} `);
    if (match === null) return [];
    const address = (match[1] ?? "").replace(/^\[|\]$/g, "").replace(/%.*$/, "");
    return [{ address: address === "*" ? "::" : address, port: Number(match[2]) }];
  });
}
