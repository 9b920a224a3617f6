import { defined } from "../../faults/defined";
import { Failed } from "../../faults/fault";
import { jsonIn } from "../../faults/json";
import { plainText } from "../../faults/plainText";
import { withoutSecrets } from "../../faults/secrets";
import { askOn, commandOn } from "../host/onMachine";
import { HERE, isOverSsh } from "../planned/reach";

export const NO_DOCKER = "No `docker` on PATH: install the Docker client.";

/**
 * How docker is started for an engine: over ssh the machine's own docker, else the one here, told where the engine is. One that
 * is followed must be given a stdin that stays open.
 */
export function dockerCommand(
  args: readonly string[],
  dockerHost?: string,
  on: typeof commandOn = commandOn,
): { readonly words: readonly string[]; readonly env: Readonly<Record<string, string>> } {
  const place = { dockerHost: dockerHost ?? HERE };
  return { words: on(place, ["docker", ...args]), env: isOverSsh(place) ? {} : defined({ DOCKER_HOST: dockerHost }) };
}

/**
 * Runs a docker command and returns what it printed. Without a host it is the engine that docker itself would take.
 * Throws `Failed` with docker's own last line.
 */
export async function docker(args: readonly string[], timeoutSeconds = 60, dockerHost?: string): Promise<string> {
  const there = dockerHost !== undefined && isOverSsh({ dockerHost });
  const env = there ? {} : defined({ DOCKER_HOST: dockerHost });
  const place = { dockerHost: dockerHost ?? HERE };
  const { error, out, err } = await askOn(place, ["docker", ...args], { seconds: timeoutSeconds, env });
  if (error === null) return out;
  if (error.code === "ENOENT") throw new Failed(there ? "No `ssh` on PATH: install the OpenSSH client." : NO_DOCKER);
  const tooLong = String(error.code) === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER";
  if (error.killed === true && !tooLong)
    throw new Failed(`docker ${args[0]} gave no answer within ${timeoutSeconds} s.`);
  const said = err.trim().split("\n").at(-1) || `exit code ${String(error.code)}`;
  throw new Failed(`docker ${args[0]} failed: ${tooLong ? "it prints more than is read" : said}`);
}

/** How much is quoted of an answer that is none. */
const QUOTED = 80;

/** The same of a command whose answer is JSON. Throws `Failed` where something else came, as of a wrapper named docker. */
export async function dockerJson(...asked: Parameters<typeof docker>): Promise<unknown> {
  const answer = await docker(...asked);
  const value = jsonIn(answer);
  if (value !== undefined) return value;
  const said = withoutSecrets(plainText(answer.trim().replaceAll("\n", " "))).slice(0, QUOTED);
  const what = said === "" ? "nothing" : `\`${said}\``;
  throw new Failed(
    `docker ${asked[0][0]} printed ${what} in place of JSON: is \`docker\` on PATH Docker's own client, and does the shell of that machine print nothing else?`,
  );
}
