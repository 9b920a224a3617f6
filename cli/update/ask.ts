import { Failed } from "@local-serving/base/commandLine/exit";
import { defined } from "@local-serving/base/faults/defined";
import type { Part } from "@local-serving/machines/update/record";
import type { MachinePlan } from "../../components/plan";
import { answers } from "../../components/planned";
import { hostOf } from "../sees/host";
import type { Named } from "../stack/named";
import { onItsMachines } from "../stack/onMachines";
import { keepVerify } from "../verify/lastVerify";
import { PROBE_SECONDS } from "../verify/probeSeconds";
import { verifyProgress } from "../verify/report";
import { verify } from "../verify/run/runner";
import { type WaitedOn, waitForServer, waitForService } from "../wait/waitForServer";
import type { UpdateSeen } from "./decide";
import { type NamedResult, namedParts, namedResult } from "./parts";

/** How probes of an update are asked. */
interface Probing {
  /** The stack file whose results are kept. */
  readonly stackFile: string;
  /** Ends them: those that are left are skipped. */
  readonly interrupt?: AbortSignal;
}

/** Probes what an update is about, or `all` there is, and keeps what was found for doctor. */
export async function probe(
  machines: readonly MachinePlan[],
  parts: readonly Part[] | "all",
  { stackFile, interrupt }: Probing,
): Promise<NamedResult[]> {
  const results: NamedResult[] = [];
  for (const machine of machines) {
    const about = parts === "all" ? undefined : namedParts(machine, parts);
    if (about?.length === 0 || interrupt?.aborted) continue;
    const progress = verifyProgress(process.stderr);
    const asked = { machines, progress, timeoutSeconds: PROBE_SECONDS, host: hostOf };
    const { probes } = await verify(machine, { ...asked, ...defined({ about, interrupt }) });
    if (interrupt?.aborted) continue;
    await keepVerify({ stackFile, machine: machine.name }, probes);
    results.push(...probes.map((each) => namedResult(machine, each)));
  }
  return results;
}

/**
 * Waits for what an update started, each as long as it has from now on. Ends with the first that
 * doesn't come. Throws `Failed` where Docker gives no answer.
 */
export async function waitForParts(
  machines: readonly MachinePlan[],
  parts: readonly Part[],
  signal: AbortSignal,
): Promise<UpdateSeen["waited"]> {
  const began = performance.now();
  const waited: { part: string; result: WaitedOn }[] = [];
  const isOver = () => signal.aborted;
  for (const { name: part, withinSeconds } of parts) {
    if (withinSeconds === undefined) continue;
    const spent = Math.round((performance.now() - began) / 1000);
    const left = Math.max(1, Math.round(withinSeconds) - spent);
    for (const named of machines.flatMap((machine) => namedParts(machine, [{ name: part }]))) {
      const results = await waitForPart(named, machines, { seconds: left, isOver });
      waited.push(...results.map((result) => ({ part, result })));
      if (results.length === 0) continue;
      if (results.some(({ outcome }) => outcome !== "ready") || signal.aborted) return waited;
    }
  }
  return waited;
}

async function waitForPart(
  { machine, server, container }: Named,
  machines: readonly MachinePlan[],
  { seconds, isOver }: { readonly seconds: number; readonly isOver: () => boolean },
): Promise<readonly WaitedOn[]> {
  // A worker is waited for together with its head.
  if (container === undefined || (server && !answers(server))) return [];
  return server === undefined
    ? [await waitForService(machine, container, seconds, isOver)]
    : waitForServer(onItsMachines({ machine, server }, machines), seconds, isOver);
}

/** Why a machine's Docker doesn't answer; `undefined` where each does. */
export async function awayOf(machines: readonly MachinePlan[]): Promise<string | undefined> {
  for (const { name, dockerHost } of machines)
    try {
      await hostOf(dockerHost).docker(["version", "--format", "{{.Server.Version}}"]);
    } catch (error) {
      if (error instanceof Failed) return `${name} doesn't answer (${error.message})`;
      throw error;
    }
  return undefined;
}
