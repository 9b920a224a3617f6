import type { ContainerState } from "../../containers/readContainers";
import type { Diagnosis } from "../diagnosis";
import { type Evidence, plannedStates, seen, seenAny, serverOf } from "../evidence";
import { sign } from "../sign";
import { COMPILER_VICTIMS, compiling } from "./jit";
import { lowerShare } from "./memory";

/** The kernel's killer and earlyoom's. */
const KERNEL_KILL = sign("Killed process", /Killed process (\d+) \(([^)]*)\)/);
const EARLYOOM = sign("sending SIG", /sending SIG(?:TERM|KILL) to process (\d+) [^"]*"([^"]*)"/);

const EXIT_KILLED = 137;
const EXITED_137 = sign(
  ["137", "SIGKILL", "signal 9", "-9"],
  /\bExited \(137\)|\bexit(?:ed)?(?: with)?(?: code| status)?:?\s*137\b|\bstatus=9\/KILL|signal 9 \(SIGKILL\)|exitcode[=:] ?-9/i,
);

const killedForMemory: Diagnosis = {
  id: "killed-for-memory",
  source: "the kernel's out-of-memory killer, or earlyoom; memory on this machine is one pool for everything",
  caughtBy: "the plan's ledger and the policy `aggregate-utilization`",
  signs: [KERNEL_KILL, EARLYOOM],
  judge(evidence) {
    const hit = seenAny(evidence, KERNEL_KILL, EARLYOOM);
    if (hit === undefined || COMPILER_VICTIMS.test(hit.groups[1] ?? "") || compiling(evidence) !== undefined)
      return undefined;
    const victim = hit.groups[1] || "a process";
    return {
      cause: `The machine ran out of memory and ${victim} was killed for it.`,
      evidence: hit.line,
      ...lowerShare(evidence, serverOf(evidence, hit.log)),
    };
  },
};

const killed: Diagnosis = {
  id: "killed",
  source: 'specification, Errors: "Process exit 137", here without a sign of compiling',
  caughtBy: false,
  signs: [EXITED_137, KERNEL_KILL, EARLYOOM],
  judge(evidence) {
    if (seenAny(evidence, KERNEL_KILL, EARLYOOM) !== undefined || compiling(evidence) !== undefined)
      return undefined;
    const state = killedContainer(evidence);
    const hit = seen(evidence, EXITED_137);
    if (state === undefined && (hit === undefined || hit.log.kind === "probes")) return undefined;
    const container = state?.name ?? serverOf(evidence, hit?.log).container;
    return {
      cause:
        "The process was killed from outside (signal 9): by the kernel for lack of memory, or by somebody's `docker kill` or a stop that took too long.",
      evidence: state === undefined ? (hit?.line ?? "") : stateLine(state),
      advice:
        "Not to be told from this alone: the kernel's log says whether it was memory. Hand it over with `--dmesg`.",
      command: `sudo journalctl --dmesg --since -2h | grep -iE 'out of memory|oom|NVRM'; docker inspect --format '{{.State.OOMKilled}} {{.State.FinishedAt}}' ${container}`,
    };
  },
};

/** A container of the plan that ended with 137. */
export function killedContainer(evidence: Evidence): ContainerState | undefined {
  return plannedStates(evidence).find((each) => each.status !== "running" && each.exitCode === EXIT_KILLED);
}

export function stateLine(state: ContainerState): string {
  const oom = state.oomKilled ? ", OOMKilled" : "";
  return `container ${state.name}: ${state.status}, exit code ${state.exitCode}${oom}, ${state.restartCount} restarts`;
}

export const killings: readonly Diagnosis[] = [killedForMemory, killed];
