import { start } from "@local-serving/base/commandLine/run";
import { type LogReading, scanLog } from "./scanLog";
import type { Sign } from "./sign";

/** Seconds that one program's output is listened to. */
const LISTEN_SECONDS = 20;

/** Looks for these signs in what a program prints; `undefined` where it fails or isn't there. */
export async function scanProgram(
  about: Pick<LogReading, "name" | "kind" | "container">,
  command: readonly string[],
  signs: readonly Sign[],
  env: Readonly<Record<string, string>> = {},
): Promise<LogReading | undefined> {
  // The scan gives up first.
  const { stdout, ended, stop } = start(command, {
    seconds: LISTEN_SECONDS + 1,
    env,
    merged: true,
  });
  const log = await scanLog(about, stdout, signs, { seconds: LISTEN_SECONDS });
  if (log.cutShort !== undefined) stop();
  const { code, stopped } = await ended;
  if (code === 0) return log;
  const neverEnded = log.cutShort !== undefined || stopped === "timeout";
  return neverEnded && log.lines > 1 ? { cutShort: "it did not end in time", ...log } : undefined;
}
