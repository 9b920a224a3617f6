import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { eachLine } from "@local-serving/base/commandLine/run";

/** What Docker said of the servers of a network, from `docker events`, in hundredths of a share. */
export interface SampledMemory {
  /** The largest sum of the shares of servers that ran at one moment. */
  readonly most: () => number;
  stop(): void;
}

/**
 * Adds up the memory shares of the containers that run, from every start and end that Docker
 * tells. Names begin with `prefix`.
 */
export function sampleMemory(prefix: string): SampledMemory {
  const running = new Map<string, number>();
  let most = 0;
  const events: ChildProcess = spawn("docker", [
    ...["events", "--filter", "type=container", "--format"],
    "{{.Action}} {{.ID}} {{.Actor.Attributes.name}}",
  ]);
  const add = (id: string) => {
    running.set(id, shareOf(id));
    most = Math.max(
      most,
      [...running.values()].reduce((sum, share) => sum + share, 0),
    );
  };
  if (events.stdout)
    eachLine(events.stdout, (line) => {
      const [action = "", id = "", name = ""] = line.split(" ");
      if (!name.startsWith(prefix)) return;
      if (action === "start") add(id);
      if (action === "die") running.delete(id);
    });
  return { most: () => most, stop: () => void events.kill() };
}

function shareOf(id: string): number {
  try {
    const words: unknown = JSON.parse(
      execFileSync("docker", ["inspect", "--format", "{{json .Config.Cmd}}", id], {
        encoding: "utf8",
      }),
    );
    const argv = Array.isArray(words) ? words.map(String) : [];
    return Math.round(100 * Number(argv[argv.indexOf("--gpu-memory-utilization") + 1] ?? 0));
  } catch {
    return 0; // It was removed in the same moment.
  }
}
