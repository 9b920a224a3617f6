import { execFile } from "node:child_process";
import { defined } from "../../faults/defined";
import { Failed } from "../../faults/fault";

/** Largest answer of a docker command that is read, in characters; a manifest list is a few kB. */
const LARGEST_ANSWER = 4 * 1024 ** 2;

export const NO_DOCKER = "No `docker` on PATH: install the Docker client.";

/**
 * Runs a docker command and returns what it printed. Without a host it is the engine that docker itself would take.
 * Throws `Failed` with docker's own last line.
 */
export function docker(args: readonly string[], timeoutSeconds = 60, dockerHost?: string): Promise<string> {
  const options = {
    timeout: timeoutSeconds * 1000,
    killSignal: "SIGKILL",
    maxBuffer: LARGEST_ANSWER,
    encoding: "utf8",
    env: { ...process.env, ...defined({ DOCKER_HOST: dockerHost }) },
  } as const;
  return new Promise((resolve, reject) => {
    execFile("docker", [...args], options, (error, out, err) => {
      if (error === null) return resolve(out);
      if (error.code === "ENOENT") return reject(new Failed(NO_DOCKER));
      const tooLong = String(error.code) === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER";
      if (error.killed === true && !tooLong)
        return reject(new Failed(`docker ${args[0]} gave no answer within ${timeoutSeconds} s.`));
      const said = err.trim().split("\n").at(-1) || `exit code ${String(error.code)}`;
      reject(new Failed(`docker ${args[0]} failed: ${tooLong ? "it prints more than is read" : said}`));
    });
  });
}
