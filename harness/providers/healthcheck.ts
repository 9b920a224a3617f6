import { spawn } from "node:child_process";
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
  ): ProviderVerdict => ({
    name: `${name}: healthcheck`,
    status,
    detail,
    fix,
    ...defined({ cause }),
  });
  if (!command)
    return result("skip", "no healthcheck is set", "The harness takes the provider for reachable.");
  const end = await runBounded(command, env, timeoutSec);
  if (end.kind === "exit" && end.code === 0) return result("pass", "the command exits with 0");
  const fix = "Run the command in a shell to see what it says.";
  if (end.kind === "timeout")
    return result("fail", `the command did not end within ${timeoutSec} s`, fix, "timeout");
  if (end.kind === "unstarted")
    return result("fail", "bash could not be started", "Install bash.", "no-bash");
  return result(
    "fail",
    end.code === null ? "the command was killed" : `the command exits with ${end.code}`,
    fix,
    "healthcheck-failed",
  );
}

type End =
  | { readonly kind: "exit"; readonly code: number | null }
  | { readonly kind: "timeout" }
  | { readonly kind: "unstarted" };

const ENDING_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

function runBounded(command: string, env: NodeJS.ProcessEnv, timeoutSec: number): Promise<End> {
  return new Promise((resolve) => {
    const child = spawn("bash", ["-c", command], { detached: true, env, stdio: "ignore" });
    const killGroup = () => {
      if (child.pid === undefined) return;
      try {
        process.kill(-child.pid, "SIGKILL");
      } catch {
        // Everybody in the group has ended already.
      }
    };
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      killGroup();
    }, timeoutSec * 1000);
    const interrupted = (signal: NodeJS.Signals) => {
      killGroup();
      release();
      process.kill(process.pid, signal);
    };
    const release = () => {
      clearTimeout(timer);
      for (const signal of ENDING_SIGNALS) process.off(signal, interrupted);
    };
    for (const signal of ENDING_SIGNALS) process.on(signal, interrupted);
    const end = (how: End) => {
      release();
      killGroup();
      resolve(how);
    };
    child.on("error", () => end({ kind: "unstarted" }));
    child.on("exit", (code) => end(timedOut ? { kind: "timeout" } : { kind: "exit", code }));
  });
}
