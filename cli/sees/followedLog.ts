import { setTimeout as sleep } from "node:timers/promises";
import { type End, eachLine, start } from "@local-serving/base/commandLine/run";
import { readContainers } from "@local-serving/machines/docker/containers";
import { dockerCommand } from "@local-serving/machines/docker/docker";
import { followedOn } from "@local-serving/machines/onMachine";

interface ContainersLog {
  readonly name: string;
  readonly dockerHost: string;
  /** How many of the newest lines come first. */
  readonly tail: number;
}

/** A time as Docker puts it before a line: of one length, so that text order is that of time. */
const TIMED = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z) ?(.*)$/s;

/** Docker's words for a container whose log may go on. */
const GOES_ON = ["running", "restarting", "paused"];

/** Between two looks at a container that Docker starts again. */
const PAUSE_MILLISECONDS = 1000;

/**
 * Hands each line of a container's log on, until the container stays ended. Docker itself ends what
 * it follows at each restart, and where it rotates the log: then this goes on behind the last line.
 */
export async function followedLog(
  { name, dockerHost, tail }: ContainersLog,
  line: (text: string) => void,
  pauseMilliseconds = PAUSE_MILLISECONDS,
): Promise<End> {
  let last = "";
  for (;;) {
    const from = last === "" ? ["--tail", `${tail}`] : ["--since", last];
    const args = ["logs", "--timestamps", "--follow", ...from, name];
    const { words, env } = dockerCommand(args, dockerHost, followedOn);
    const { stdout, ended } = start(words, { env, merged: true, held: true });
    const shown = last;
    let isShown = false;
    eachLine(stdout, (text) => {
      // The parts of a line that a carriage return divides have one time, before the first.
      const [, time, rest = text] = TIMED.exec(text) ?? [];
      if (time !== undefined) isShown = time <= shown;
      if (isShown) return;
      if (time !== undefined && time > last) last = time;
      line(rest);
    });
    const end = await ended;
    if (end.code !== 0 || !(await goesOn(name, dockerHost))) return end;
    await sleep(pauseMilliseconds);
  }
}

async function goesOn(name: string, dockerHost: string): Promise<boolean> {
  const all = await readContainers(dockerHost);
  return all.some((each) => each.name === name && GOES_ON.includes(each.status));
}
