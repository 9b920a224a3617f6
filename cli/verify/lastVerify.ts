import { createHash } from "node:crypto";
import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { createFile, replaceFile } from "@local-serving/base/commandLine/replaceFile";
import { attempt, defined } from "@local-serving/base/faults/defined";
import { isRecord, jsonIn, objectOr, objectsIn } from "@local-serving/base/faults/json";
import { keptText } from "@local-serving/base/faults/textFile";
import * as z from "zod";
import { probeSeen } from "../rules/picture";
import { type System, systemSchema } from "../sees/system";
import type { ProbeResult } from "./probe";

const keptResult = probeSeen.extend({
  target: z.string().min(1),
  at: z.string().refine((at) => !Number.isNaN(Date.parse(at))),
});

export type KeptResult = z.infer<typeof keptResult>;

/** Results are kept by these two: two stack files may both have a machine `dgx`. */
export type Verified = { readonly stackFile: string; readonly machine: string };

const ABOUT = "What `serving verify` last found on this machine; `serving doctor` reads it.";

/** A file of the operator about a stack file, by the XDG convention; `undefined` without a home. */
export function stateFile(
  stackFile: string,
  env: NodeJS.ProcessEnv,
  name: (stack: string) => string,
): string | undefined {
  const state = env.XDG_STATE_HOME || (env.HOME && join(env.HOME, ".local/state"));
  if (!state) return undefined;
  const stack = createHash("sha256").update(resolve(stackFile)).digest("hex").slice(0, 12);
  return join(state, "local-serving", name(stack));
}

const fileOf = ({ stackFile, machine }: Verified, env: NodeJS.ProcessEnv) =>
  stateFile(stackFile, env, (stack) => `verify-${machine}-${stack}.json`);

const passedFile = (stackFile: string, env: NodeJS.ProcessEnv) =>
  stateFile(stackFile, env, (stack) => `verified-${stack}.yaml`);

/** Keeps the text of a stack file that passed as a whole. Failing to keep it is not an error. */
export function keepPassed(stackFile: string, text: string, env = process.env): void {
  const file = passedFile(stackFile, env);
  attempt(() => file && replaceFile(file, text, { newFileMode: 0o600 }));
}

/** Where the last text of a stack file that passed is kept; `undefined` where none did. */
export function passedStackFile(stackFile: string, env = process.env): string | undefined {
  const file = passedFile(stackFile, env);
  return file !== undefined && existsSync(file) ? file : undefined;
}

/**
 * Keeps the results of a run, the older ones of probes that it did not run, and the machine's
 * system if it was read. Failing to keep them is not an error.
 */
export async function keepVerify(
  verified: Verified,
  results: readonly ProbeResult[],
  env = process.env,
  read?: System,
): Promise<void> {
  const file = fileOf(verified, env);
  if (file === undefined) return;
  const at = new Date().toISOString();
  const fresh = results.map(({ seconds: _, ...result }): KeptResult => ({ ...result, at }));
  const asked = new Set(fresh.map(keyOf));
  const older = (await lastVerify(verified, env)).filter((each) => !asked.has(keyOf(each)));
  const { stackFile, machine } = verified;
  const system = read ?? (await verifiedSystem(verified, env));
  const kept = {
    about: ABOUT,
    stackFile: resolve(stackFile),
    machine,
    ...defined({ system }),
    probes: [...older, ...fresh],
  };
  // A full disk, or a home that nobody may write to: the result was printed.
  attempt(() => replaceFile(file, `${JSON.stringify(kept, null, 2)}\n`));
}

const keyOf = ({ name, target }: Pick<ProbeResult, "name" | "target">) => `${target}: ${name}`;

/** The newest kept result of each probe. */
export async function lastVerify(verified: Verified, env = process.env): Promise<KeptResult[]> {
  const { probes } = await recordOf(verified, env);
  return objectsIn(probes).flatMap((each) => keptResult.safeParse(each).data ?? []);
}

/** A machine's system as it was at the last run; records of older versions lack it. */
export const verifiedSystem = async (verified: Verified, env = process.env) =>
  systemSchema.safeParse((await recordOf(verified, env)).system).data;

async function recordOf(verified: Verified, env: NodeJS.ProcessEnv) {
  const file = fileOf(verified, env);
  return objectOr(jsonIn(textOf(file) ?? ""));
}

/**
 * Copies what is kept about a stack file to its new folder, once it was copied there: the records
 * of a file with the same name that has this very text, or had it when it last passed. Records
 * that the new folder has stay. Failing to copy them is not an error.
 */
export function takeRecords(stackFile: string, text: string, env = process.env): void {
  const passed = passedFile(stackFile, env);
  if (passed === undefined) return;
  for (const record of newestRecords(dirname(passed))) {
    const { stackFile: from, machine } = record;
    if (typeof from !== "string" || typeof machine !== "string") continue;
    if (basename(from) !== basename(stackFile)) continue;
    const passedThere = textOf(passedFile(from, env));
    if (text !== textOf(from) && text !== passedThere) continue;
    const file = fileOf({ stackFile, machine }, env);
    const moved = { ...record, stackFile: resolve(stackFile) };
    attempt(() => file && createFile(file, `${JSON.stringify(moved, null, 2)}\n`));
    attempt(() => passedThere !== undefined && createFile(passed, passedThere));
  }
}

/** Stack files that still exist and whose machine of that name passed or failed `serving verify`. */
export function verifiedStackFiles(machine: string, env = process.env): string[] {
  const any = passedFile("", env);
  const records = any === undefined ? [] : newestRecords(dirname(any));
  return records.flatMap(({ stackFile, machine: its }) =>
    its === machine && typeof stackFile === "string" && existsSync(stackFile) ? [stackFile] : [],
  );
}

/** The kept results of every stack file and machine. */
function newestRecords(folder: string): Record<string, unknown>[] {
  const names = attempt(() => readdirSync(folder)) ?? [];
  return names
    .filter((name) => /^verify-.+\.json$/.test(name))
    .map((name) => join(folder, name))
    .map((file) => ({ kept: jsonIn(textOf(file) ?? ""), at: changedAt(file) }))
    .sort((a, b) => b.at - a.at)
    .flatMap(({ kept }) => (isRecord(kept) ? [kept] : []));
}

const textOf = (file: string | undefined): string | undefined =>
  file === undefined ? undefined : keptText(file);

const changedAt = (file: string): number => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
