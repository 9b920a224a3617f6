import { writtenBy } from "./header";
import { quoted } from "./launchers";
import type { ClientTarget } from "./target";

/**
 * Variables of a chat-completions client, as a file for `. FILE`, `docker run --env-file` and systemd alike. A value is
 * quoted only where a shell needs it, since Docker takes quotes as part of the value.
 */
export function clientEnv(target: ClientTarget): string {
  const { placeholder, variable } = target.key;
  return [
    writtenBy("Variables for chat-completions clients"),
    ...(placeholder === undefined ? [`# OPENAI_API_KEY is in ${variable} of your shell.`] : []),
    ...(placeholder === undefined ? [] : [`OPENAI_API_KEY=${placeholder}`]),
    `OPENAI_BASE_URL=${target.origin}/v1`,
    `OPENAI_MODEL=${plainOrQuoted(target.model)}`,
    "",
  ].join("\n");
}

function plainOrQuoted(value: string): string {
  return /^[\w@%+=:,./-]+$/.test(value) ? value : quoted(value);
}
