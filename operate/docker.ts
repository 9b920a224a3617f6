import { execFile, spawn } from "node:child_process";
import { Failed } from "../commandLine/exit";

/** Largest answer of a docker command that is read; a manifest list is a few kB. */
const LARGEST_ANSWER_BYTES = 4 * 1024 ** 2;

/**
 * Runs a docker command and returns what it printed. Without a host it is the engine that docker itself would take.
 * Throws `Failed` with docker's own last line.
 */
export function docker(args: readonly string[], timeoutSeconds = 60, dockerHost?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      "docker",
      [...args],
      {
        timeout: timeoutSeconds * 1000,
        maxBuffer: LARGEST_ANSWER_BYTES,
        encoding: "utf8",
        ...(dockerHost === undefined ? {} : { env: { ...process.env, DOCKER_HOST: dockerHost } }),
      },
      (error, stdout, stderr) => {
        if (error === null) return resolve(stdout);
        if (error.code === "ENOENT")
          return reject(new Failed("No `docker` on PATH: install the Docker client."));
        if (error.killed === true)
          return reject(new Failed(`docker ${args[0]} gave no answer within ${timeoutSeconds} s.`));
        const said = stderr.trim().split("\n").at(-1) ?? "";
        reject(new Failed(`docker ${args[0]} failed: ${said === "" ? error.message : said}`));
      },
    );
  });
}

/** Runs a long docker command whose progress a person should see: what it prints goes to stderr. */
export function dockerShown(args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn("docker", [...args], { stdio: ["ignore", 2, 2] });
    child.on("error", () => reject(new Failed("No `docker` on PATH: install the Docker client.")));
    child.on("close", (code) =>
      code === 0 ? resolve() : reject(new Failed(`docker ${args[0]} failed (exit code ${code}).`)),
    );
  });
}
