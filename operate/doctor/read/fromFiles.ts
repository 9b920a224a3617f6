import { once } from "node:events";
import { createReadStream, readFileSync } from "node:fs";
import { parseMeminfo } from "../../../components/plan/evidence";
import { UnreadableInput } from "../../../faults/fault";
import { readJsonFile } from "../../../faults/jsonDocument";
import { readFailure } from "../../../faults/yamlDocument";
import { containersOf } from "../../containers/readContainers";
import { diagnoses } from "../diagnoses";
import type { Evidence, Probe } from "../evidence";
import { type LogReading, scanLog } from "../scanLog";
import { socketsOfSs } from "./sockets";

/** Every sign that some diagnosis looks for. */
export const SIGNS = diagnoses.flatMap((each) => each.signs);

/** Files that a user gives, so that a machine can be helped from afar. */
export interface GivenFiles {
  readonly log?: readonly string[];
  readonly meminfo?: string;
  readonly dmesg?: string;
  readonly inspect?: string;
  readonly listeners?: string;
  readonly verify?: string;
}

/** Reads the files that were given and nothing else. Throws `UnreadableInput`. */
export async function fromFiles(files: GivenFiles): Promise<Omit<Evidence, "stack" | "serverKey">> {
  const logs: LogReading[] = [];
  for (const file of files.log ?? []) logs.push(await scanFile(file, "file"));
  if (files.dmesg !== undefined) logs.push(await scanFile(files.dmesg, "kernel"));
  const probes = files.verify === undefined ? undefined : readProbes(files.verify);
  if (probes !== undefined) logs.push(await scanProbes(probes));
  return {
    logs,
    ...(files.meminfo === undefined ? {} : { meminfo: readMeminfo(files.meminfo) }),
    ...(files.inspect === undefined ? {} : { containers: readInspect(files.inspect) }),
    ...(files.listeners === undefined ? {} : { sockets: socketsOfSs(textOf(files.listeners)) }),
    ...(probes === undefined ? {} : { probes }),
  };
}

async function scanFile(file: string, kind: LogReading["kind"]): Promise<LogReading> {
  if (file === "-") return scanStdin(kind);
  const stream = createReadStream(file, { highWaterMark: 1024 * 1024 });
  try {
    await once(stream, "open");
    return await scanLog({ name: file, kind }, stream, SIGNS);
  } catch (error) {
    throw new UnreadableInput(file, readFailure(error));
  } finally {
    stream.destroy();
  }
}

async function scanStdin(kind: LogReading["kind"]): Promise<LogReading> {
  if (process.stdin.isTTY) throw new UnreadableInput("--log -", "stdin is a terminal; pipe a log into it");
  try {
    return await scanLog({ name: "stdin", kind }, process.stdin, SIGNS);
  } finally {
    // One that is still open would keep this program alive.
    process.stdin.destroy();
  }
}

/** What failed probes say is read like a log: a probe shows the same texts. */
export function scanProbes(probes: readonly Probe[]): Promise<LogReading> {
  const failed = probes.filter(({ status }) => status === "fail");
  const lines = failed.map(({ name, detail }) => `probe ${name}: ${detail.replaceAll("\n", " ")}\n`);
  return scanLog({ name: "serving verify", kind: "probes" }, lines, SIGNS);
}

function readMeminfo(file: string) {
  const meminfo = parseMeminfo(textOf(file));
  if (meminfo === undefined)
    throw new UnreadableInput(
      file,
      "has no lines `MemTotal: N kB` and `MemAvailable: N kB`; expected a copy of /proc/meminfo",
    );
  return meminfo;
}

function readInspect(file: string) {
  const containers = containersOf(readJsonFile(file).value);
  if (containers.length === 0)
    throw new UnreadableInput(file, "holds no container; expected what `docker inspect CONTAINER` prints");
  return containers;
}

function readProbes(file: string): Probe[] {
  const { value } = readJsonFile(file);
  const list = typeof value === "object" && value !== null && "probes" in value ? value.probes : undefined;
  if (!Array.isArray(list))
    throw new UnreadableInput(
      file,
      "has no list `probes`; expected what `serving verify --format json` prints",
    );
  return list.flatMap((each: unknown): Probe[] => {
    if (typeof each !== "object" || each === null) return [];
    const { name, status, detail, fix } = each as Record<string, unknown>;
    if (status !== "pass" && status !== "fail" && status !== "skip") return [];
    return [{ name: String(name), status, detail: String(detail ?? ""), fix: String(fix ?? "") }];
  });
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new UnreadableInput(file, readFailure(error));
  }
}
