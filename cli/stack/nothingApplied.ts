import { Failed } from "@local-serving/base/faults/fault";
import { filesOf } from "@local-serving/machines/files";
import type { MachinePlan } from "../../components/plan";
import { hostOf } from "../sees/host";
import type { StackFileOptions } from "./stackFile";
import { forStack } from "./typed";

/**
 * What every command says before the first `serving up`; `undefined` once one of the machines has
 * anything of the stack.
 */
export async function nothingApplied(
  machines: readonly MachinePlan[],
  options: StackFileOptions,
): Promise<string | undefined> {
  const all = await Promise.all(machines.map(hasAnything));
  return all.includes(true)
    ? undefined
    : forStack("Nothing is applied yet: run `serving up`.", options);
}

/** Kind of the fault that says so in a document. */
export const NOTHING_APPLIED = "nothing_applied";

/** Throws `Failed`, with that sentence, before the first `serving up`. */
export async function expectApplied(
  machines: readonly MachinePlan[],
  options: StackFileOptions,
): Promise<void> {
  const nothing = await nothingApplied(machines, options);
  if (nothing !== undefined) throw new Failed(nothing, NOTHING_APPLIED);
}

/** Does some work. Where that fails before the first `serving up`, that is the reason given. */
export function explainedByNothing<Result>(
  machines: readonly MachinePlan[],
  options: StackFileOptions,
  work: Promise<Result>,
): Promise<Result> {
  return work.catch(async (error: unknown) => {
    if (error instanceof Failed) await expectApplied(machines, options);
    throw error;
  });
}

/** Whether the record of an `up` is on a machine, or one of its containers. */
async function hasAnything({ files, containers, dockerHost }: MachinePlan): Promise<boolean> {
  const record = files.find(({ role }) => role === "applied-plan");
  // What can't be read, as over an ssh that fails, may be there.
  if (record !== undefined && (await filesOf({ dockerHost }).state(record.path)) !== "missing")
    return true;
  const found = await hostOf(dockerHost)
    .containers()
    .catch((error: unknown) => {
      // Without the record, an engine that doesn't answer has nothing of ours as far as is known.
      if (error instanceof Failed) return [];
      throw error;
    });
  return found.some(({ name }) => containers.some((each) => each.name === name));
}
