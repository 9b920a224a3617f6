import { writtenBy } from "./header";
import type { ClientTarget } from "./target";

/** Variables of a chat-completions client, as a file for `. FILE`, `docker run --env-file` and systemd alike. */
export function clientEnv(target: ClientTarget): string {
  const { placeholder, variable } = target.key;
  return [
    writtenBy("Variables for chat-completions clients"),
    ...(placeholder === undefined ? [`# OPENAI_API_KEY is in ${variable} of your shell.`] : []),
    ...(placeholder === undefined ? [] : [`OPENAI_API_KEY=${placeholder}`]),
    `OPENAI_BASE_URL=${target.origin}/v1`,
    `OPENAI_MODEL=${target.model}`,
    "",
  ].join("\n");
}
