import { defined } from "@local-serving/base/faults/defined";
import { Failed } from "@local-serving/base/faults/fault";
import { jsonIn } from "@local-serving/base/faults/json";
import { lastWords } from "@local-serving/base/faults/lastWords";
import { plainText } from "@local-serving/base/faults/plainText";
import { redactSecrets } from "@local-serving/base/faults/secrets";
import { HERE, isOverSsh } from "../address";
import { ANSWER_SECONDS, askOn, commandOn } from "../onMachine";

/** Most characters of an answer that are shown. */
const SHOWN = 120;

/**
 * The JSON that a docker command prints. Throws `Failed` as `docker` does, and where it prints
 * anything else.
 */
export async function dockerJson(args: readonly string[], dockerHost?: string): Promise<unknown> {
  const answer = await docker(args, dockerHost);
  const value = jsonIn(answer);
  if (value === undefined) throw otherAnswer(args, "JSON", answer, dockerHost);
  return value;
}

/**
 * Refuses an answer of another form. A wrapper may have answered, or a login script on the machine
 * that prints.
 */
export function otherAnswer(
  args: readonly string[],
  wanted: string,
  answer: string,
  dockerHost = "",
): Failed {
  const [line = ""] = answer.trim().split("\n", 1);
  const shown = plainText(redactSecrets(line)).slice(0, SHOWN);
  const said = shown === "" ? "printed nothing" : `printed \`${shown}\``;
  const where = dockerHost === "" ? "" : ` (${dockerHost})`;
  const remedy = `Run \`docker ${args[0]}\` there yourself: anything else that prints, such as a login script or a wrapper around docker, must print to stderr.`;
  return new Failed(`docker ${args[0]}${where} ${said} instead of ${wanted}. ${remedy}`);
}

/** Whether an engine has an image; not where it doesn't answer, either. */
export const hasImage = (image: string, dockerHost?: string): Promise<boolean> =>
  docker(["image", "inspect", "--format", "{{.Id}}", image], dockerHost).then(
    () => true,
    () => false,
  );

export const NO_DOCKER = "No `docker` on PATH: install the Docker client.";

/**
 * How docker is started for an engine: over ssh the machine's own docker, else the one here, told
 * where the engine is. One that is followed must be given a stdin that stays open.
 */
export function dockerCommand(
  args: readonly string[],
  dockerHost?: string,
  on: typeof commandOn = commandOn,
): { readonly words: readonly string[]; readonly env: Readonly<Record<string, string>> } {
  const place = { dockerHost: dockerHost ?? HERE };
  return {
    words: on(place, ["docker", ...args]),
    env: isOverSsh(place) ? {} : defined({ DOCKER_HOST: dockerHost }),
  };
}

/**
 * Runs a docker command and returns what it printed. Without a host it is the engine that docker
 * itself would take. Throws `Failed` with docker's reason.
 */
export async function docker(
  args: readonly string[],
  dockerHost?: string,
  seconds = ANSWER_SECONDS,
): Promise<string> {
  const there = dockerHost !== undefined && isOverSsh({ dockerHost });
  const env = there ? {} : defined({ DOCKER_HOST: dockerHost });
  const place = { dockerHost: dockerHost ?? HERE };
  const ran = await askOn(place, ["docker", ...args], { seconds, env });
  const { code, notStarted, stopped, out, err } = ran;
  if (code === 0) return out;
  if (notStarted === "ENOENT")
    throw new Failed(there ? "No `ssh` on PATH: install the OpenSSH client." : NO_DOCKER);
  if (stopped === "timeout")
    throw new Failed(`docker ${args[0]} gave no answer within ${seconds} s.`);
  throw new Failed(
    `docker ${args[0]} failed: ${stopped === "output" ? "it prints more than can be read" : lastWords(err) || `exit code ${notStarted ?? code}`}`,
  );
}
