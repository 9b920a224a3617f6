import { Failed } from "@local-serving/base/commandLine/exit";
import { say } from "@local-serving/base/commandLine/output";
import type { MachinePlan } from "../../components/plan";
import { AGAIN, type Needs } from "../../components/preflight/fetch";
import { fetchMissing } from "../fetch/fetchMissing";
import { missingOf, needsOf, whyNotFetched } from "../fetch/needs";
import { expectConnection } from "../sees/tunnel";
import type { PlannedStack } from "../stack/readStack";

/** A machine, and what it lacks of its plan. */
export interface Lacking {
  readonly machine: MachinePlan;
  readonly needs: Needs;
}

/** What each machine lacks. Throws `Failed` where one doesn't answer. */
export async function lackingOn({ plan, settings }: PlannedStack): Promise<Lacking[]> {
  const all: Lacking[] = [];
  for (const machine of plan.machines) {
    const own = settings.machines[machine.name];
    if (own === undefined) continue;
    await expectConnection(machine);
    all.push({ machine, needs: await needsOf(machine, own) });
  }
  return all;
}

/** The same of those that answer: one that is away doesn't stop the others. */
export async function lackingOnThoseThere({ plan, ...stack }: PlannedStack): Promise<Lacking[]> {
  const each = plan.machines.map((machine) =>
    lackingOn({ ...stack, plan: { ...plan, machines: [machine] } }).catch((error: unknown) => {
      if (error instanceof Failed) return [];
      throw error;
    }),
  );
  return (await Promise.all(each)).flat();
}

/** Loads what machines lack while everything runs; `false` where something doesn't come. */
export async function bring(lacking: readonly Lacking[], signal: AbortSignal): Promise<boolean> {
  for (const { machine, needs } of lacking) {
    if (missingOf(needs).length === 0) continue;
    const [refusal] = whyNotFetched(needs, AGAIN.up);
    const problem = refusal ?? (await fetchMissing(needs, machine, signal, "up"));
    if (problem !== undefined) say(`${problem}\nNothing was changed.`);
    if (problem !== undefined || signal.aborted) return false;
  }
  return true;
}
