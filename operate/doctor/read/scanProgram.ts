import { spawn } from "node:child_process";
import { type LogReading, scanLog } from "../scanLog";
import { SIGNS } from "./signs";

/** Seconds that one program's output is listened to. */
const LISTEN_SECONDS = 20;

/** Both outputs of a program as one, in the order in which it wrote them. */
const BOTH_OUTPUTS = 'exec "$@" 2>&1';

/** Reads what a program prints; `undefined` where it fails or isn't there. */
export async function scanProgram(
  about: Pick<LogReading, "name" | "kind" | "container">,
  command: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<LogReading | undefined> {
  const child = spawn("sh", ["-c", BOTH_OUTPUTS, "sh", ...command], {
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...process.env, ...environment },
  });
  const code = new Promise<number | null>((resolve) => {
    child.on("error", () => resolve(1));
    child.on("close", resolve);
  });
  const stop = setTimeout(() => child.kill("SIGKILL"), LISTEN_SECONDS * 1000);
  try {
    const log = await scanLog(about, child.stdout, SIGNS, { seconds: LISTEN_SECONDS });
    child.kill("SIGKILL");
    const ended = await code;
    if (ended === 0) return log;
    if (ended === null && log.lines > 1)
      return { ...log, cutShort: log.cutShort ?? "it did not end in time" };
    return undefined;
  } finally {
    clearTimeout(stop);
  }
}
