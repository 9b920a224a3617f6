import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";

/** A process on the host that looks like a vLLM somebody else has started. */
export interface HostProcess {
  readonly pid: number;
  /** Start time as the kernel has it: the same number means the same process. */
  startTime(): string;
  answers(): Promise<boolean>;
  stop(): void;
}

const MODELS = JSON.stringify({ object: "list", data: [{ id: "org/host-model" }] });

const SERVER = `require("node:http").createServer((_, answer) => answer.end(MODELS)).listen(PORT, "127.0.0.1");`;

/** Starts it on a port; its argv says that it takes `utilization` of the memory. */
export async function startInstanceA(port: number, utilization: number): Promise<HostProcess> {
  const argv = ["vllm", "serve", "org/host-model", "--gpu-memory-utilization", String(utilization)];
  const child: ChildProcess = spawn(
    process.execPath,
    ["-e", SERVER.replace("PORT", String(port)).replace("MODELS", `'${MODELS}'`), ...argv],
    {
      stdio: "ignore",
    },
  );
  const { pid } = child;
  if (pid === undefined) throw new Error("instance A's stand-in did not start");
  const answers = async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined);
    return (await answer?.text()) === MODELS;
  };
  for (let tries = 0; !(await answers()); tries++) {
    if (tries === 100) throw new Error("instance A's stand-in does not answer");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return {
    pid,
    answers,
    startTime: () => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ")[19] ?? "",
    stop: () => child.kill("SIGKILL"),
  };
}
