import { isSecretName } from "@local-serving/base/faults/secrets";
import { readDockerRun } from "../command/dockerOptions";
import { dockerRunOf } from "./container";
import type { Source } from "./source";
import { dotEnv } from "./substitute";

/**
 * The words of a command; of a `docker run` with the variables of each `--env-file` that lies beside
 * its text in place of that. The value of a secret is not read.
 */
export function withEnvFiles(
  words: readonly string[],
  { beside }: Pick<Source, "beside">,
): readonly string[] {
  const [program = "", verb = "", ...rest] = words;
  if (verb !== "run" || !/(?:^|\/)(?:docker|podman|nerdctl)$/.test(program)) return words;
  const { options, open, image = "", rest: command } = readDockerRun(rest);
  const texts = options.map(({ name, value = "" }) =>
    name === "env-file" ? beside(value) : undefined,
  );
  if (texts.every((text) => text === undefined)) return words;
  const variables = texts.flatMap((text) => [...dotEnv(text ?? "")]);
  return dockerRunOf({
    image,
    command,
    raw: open,
    options: [
      // The container's own variables count more, wherever they stand.
      ...variables.map(
        ([name, value]) => ["env", isSecretName(name) ? name : `${name}=${value}`] as const,
      ),
      ...options.flatMap(({ name, value }, index) =>
        texts[index] === undefined ? [[name, value ?? true] as const] : [],
      ),
    ],
  });
}
