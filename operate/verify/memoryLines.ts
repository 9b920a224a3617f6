import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { saysMemory } from "../../components/plan/kv";

/** Most characters of a line that are looked at: a logged prompt has no end. */
const LINE_LIMIT = 16 * 1024;

/** Newest lines that are kept: a server in a crash loop repeats itself. */
const LINES_KEPT = 2000;

/** Both outputs of docker as one, in the order in which they were written. */
const BOTH_OUTPUTS = 'exec docker logs "$1" 2>&1';

/** Lines of a container's log that say something of an engine's memory; a log of any size, for a bounded time. */
export async function memoryLines(container: string, dockerHost: string, seconds: number): Promise<string> {
  const child = spawn("sh", ["-c", BOTH_OUTPUTS, "sh", container], {
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...process.env, DOCKER_HOST: dockerHost },
  });
  child.on("error", () => {}); // No shell: no lines.
  const stop = setTimeout(() => child.kill("SIGKILL"), seconds * 1000);
  const kept: string[] = [];
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const text = line.slice(0, LINE_LIMIT);
      if (!saysMemory(text)) continue;
      kept.push(text);
      if (kept.length > LINES_KEPT) kept.shift();
    }
  } finally {
    clearTimeout(stop);
    child.kill("SIGKILL");
  }
  return kept.join("\n");
}
