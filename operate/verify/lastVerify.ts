import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { z } from "zod";
import { isRecord, jsonIn, objectsIn } from "../../faults/json";
import { replaceFile } from "../../harness/files/replaceFile";
import type { ProbeResult } from "./probe";

const keptResult = z.object({
  name: z.string().min(1),
  target: z.string().min(1),
  status: z.enum(["pass", "fail", "skip"]),
  detail: z.string().catch(""),
  fix: z.string().catch(""),
  at: z.string().refine((at) => !Number.isNaN(Date.parse(at))),
});

export type KeptResult = z.infer<typeof keptResult>;

/** Results are kept by these two: two stack files may both have a machine `dgx`. */
export type Verified = { readonly stackFile: string; readonly machine: string };

const ABOUT = "What `serving verify` last found on this machine; `serving doctor` reads it.";

/** A file of the operator, by the XDG convention; `undefined` without a home. */
function fileOf({ stackFile, machine }: Verified, env: NodeJS.ProcessEnv): string | undefined {
  const state = env.XDG_STATE_HOME || (env.HOME && join(env.HOME, ".local/state"));
  if (!state) return undefined;
  const stack = createHash("sha256").update(resolve(stackFile)).digest("hex").slice(0, 12);
  return join(state, "local-serving", `verify-${machine}-${stack}.json`);
}

/** Keeps the results of a run, and the older ones of probes that it did not run. Failing to keep them is not an error. */
export async function keepVerify(
  verified: Verified,
  results: readonly ProbeResult[],
  env = process.env,
): Promise<void> {
  const file = fileOf(verified, env);
  if (file === undefined) return;
  const at = new Date().toISOString();
  const fresh = results.map(({ seconds: _, ...result }): KeptResult => ({ ...result, at }));
  const asked = new Set(fresh.map(keyOf));
  const older = (await lastVerify(verified, env)).filter((each) => !asked.has(keyOf(each)));
  const { stackFile, machine } = verified;
  const kept = { about: ABOUT, stackFile: resolve(stackFile), machine, probes: [...older, ...fresh] };
  try {
    replaceFile(file, `${JSON.stringify(kept, null, 2)}\n`);
  } catch {
    // A full disk, or a home that nobody may write to: the result was printed.
  }
}

const keyOf = ({ name, target }: Pick<ProbeResult, "name" | "target">) => `${target}: ${name}`;

/** The newest kept result of each probe. */
export async function lastVerify(verified: Verified, env = process.env): Promise<KeptResult[]> {
  const file = fileOf(verified, env);
  const kept = file === undefined ? undefined : jsonIn(await readFile(file, "utf8").catch(() => ""));
  if (!isRecord(kept)) return [];
  return objectsIn(kept.probes).flatMap((each) => keptResult.safeParse(each).data ?? []);
}
