import { spawn } from "node:child_process";
import { saysMemory } from "../../components/kv";
import { eachLine } from "../run";

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
  const kept: string[] = [];
  eachLine(child.stdout, (text) => {
    if (!saysMemory(text)) return;
    kept.push(text);
    if (kept.length > LINES_KEPT) kept.shift();
  });
  const stop = setTimeout(() => child.kill("SIGKILL"), seconds * 1000);
  await new Promise<void>((resolve) => {
    child.on("error", () => resolve()); // No shell: no lines.
    child.on("close", () => resolve());
  });
  clearTimeout(stop);
  return kept.join("\n");
}
