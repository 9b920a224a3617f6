import { Failed } from "../../commandLine/exit";
import { run, runShown } from "./run";

/** Largest answer of a docker command that is read, in characters; a manifest list is a few kB. */
const LARGEST_ANSWER = 4 * 1024 ** 2;

const NO_DOCKER = "No `docker` on PATH: install the Docker client.";

/**
 * Runs a docker command and returns what it printed. Without a host it is the engine that docker itself would take.
 * Throws `Failed` with docker's own last line.
 */
export async function docker(
  args: readonly string[],
  timeoutSeconds = 60,
  dockerHost?: string,
): Promise<string> {
  const { code, out, err, notStarted, stopped } = await run(["docker", ...args], {
    seconds: timeoutSeconds,
    largest: LARGEST_ANSWER,
    ...(dockerHost === undefined ? {} : { env: { DOCKER_HOST: dockerHost } }),
  });
  if (code === 0 && stopped === undefined) return out;
  if (notStarted === "ENOENT") throw new Failed(NO_DOCKER);
  if (stopped === "timeout") throw new Failed(`docker ${args[0]} gave no answer within ${timeoutSeconds} s.`);
  const said = err.trim().split("\n").at(-1) ?? "";
  const fault =
    stopped === "output" ? "it prints more than is read" : said || notStarted || `exit code ${String(code)}`;
  throw new Failed(`docker ${args[0]} failed: ${fault}`);
}

/** Runs a long docker command whose progress a person should see: what it prints goes to stderr. */
export async function dockerShown(args: readonly string[]): Promise<void> {
  const code = await runShown(["docker", ...args], { stdio: ["ignore", 2, 2] }).catch(() => {
    throw new Failed(NO_DOCKER);
  });
  if (code !== 0) throw new Failed(`docker ${args[0]} failed (exit code ${code}).`);
}
