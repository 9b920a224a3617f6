import { start } from "../../commandLine/run";
import { defined } from "../../faults/defined";
import type { ProbeCause, ProviderVerdict } from "./chatProbe";

/** Longest time that one probe waits, in seconds. A provider's own `timeout_sec` is for whole reviews. */
export const PROBE_TIMEOUT_SEC = 30;

/**
 * Runs a provider's healthcheck as the harness does, by `bash -c`, in a process group of its own that is gone when
 * this returns. What the command prints is thrown away: it may hold a key.
 */
export async function healthcheckProbe(
  name: string,
  command: string | undefined,
  env: NodeJS.ProcessEnv,
  timeoutSec: number,
): Promise<ProviderVerdict> {
  const result = (
    status: ProviderVerdict["status"],
    detail: string,
    fix = "",
    cause?: ProbeCause,
  ): ProviderVerdict => ({ name: `${name}: healthcheck`, status, detail, fix, ...defined({ cause }) });
  if (!command) return result("skip", "no healthcheck is set", "The harness takes the provider for reachable.");
  const { stdout, stderr, ended } = start(["bash", "-c", command], { seconds: timeoutSec, env });
  stdout.resume();
  stderr.resume();
  const { code, stopped, notStarted } = await ended;
  if (code === 0) return result("pass", "the command exits with 0");
  if (notStarted !== undefined) return result("fail", "bash could not be started", "Install bash.", "no-bash");
  const fix = "Run the command in a shell to see what it says.";
  if (stopped === "timeout") return result("fail", `the command did not end within ${timeoutSec} s`, fix, "timeout");
  const detail = code === null ? "the command was killed" : `the command exits with ${code}`;
  return result("fail", detail, fix, "healthcheck-failed");
}
