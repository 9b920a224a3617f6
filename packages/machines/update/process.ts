import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { attempt } from "@local-serving/base/faults/defined";
import { processStatIn } from "../processStat";
import type { UnderWay } from "./record";

type Process = UnderWay["by"];

/** When a process began, as the kernel counts; "" where there is none, or no /proc. */
function startOf(pid: number): string {
  const text = attempt(() => readFileSync(`/proc/${pid}/stat`, "utf8")) ?? "";
  const { state, start = "" } = processStatIn(text);
  return state === "Z" ? "" : start;
}

const boot = (): string =>
  (attempt(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8")) ?? "").trim();

/** This process, so that a later one can tell whether it still runs. */
export const thisProcess = (): Process => ({
  pid: process.pid,
  start: startOf(process.pid),
  boot: boot(),
  host: hostname(),
});

/** Whether a process lives; "unknown" of one on another computer. */
export function lives({ pid, start, boot: then, host }: Process): boolean | "unknown" {
  if (host !== hostname()) return "unknown";
  if (then !== boot()) return false;
  if (start !== "") return startOf(pid) === start;
  return isRunning(pid);
}

/** Whether any process has this number here. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
  // A child that nobody has waited for is no process any more.
  return startOf(pid) !== "" || boot() === "";
}
