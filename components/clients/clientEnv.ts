import { shellWord } from "@local-serving/base/faults/shellWords";
import { strictObject } from "zod";
import { clientKind, exported, pathWord, reach, writtenBy } from "./kind";

/**
 * Variables of a chat-completions client, as a file for `. FILE`, `docker run --env-file` and
 * systemd alike.
 */
export const clientEnv = clientKind({
  key: "clientEnv",
  name: "client-env",
  title: "any chat-completions client (`local-env PROGRAM ARGUMENTS`)",
  settings: strictObject(reach("native")).describe(
    "Any client that reads OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL from its environment.",
  ),
  surface: "chat completions",
  // Any program may read the variables, and most call no tools.
  coding: false,
  launcher: "local-env",
  keyInFile: true,
  givesUp: {
    seconds: 300,
    remedy: "raise its limit if it uses Node's `fetch`, which has this limit built in",
  },
  role: "client-env",
  file({ target, folder }) {
    const { placeholder, variable } = target.key;
    const path = `${folder}/client.env`;
    return {
      path,
      text: [
        writtenBy("Variables for chat-completions clients"),
        placeholder === undefined
          ? `# OPENAI_API_KEY is in ${variable} of your shell.`
          : `OPENAI_API_KEY=${placeholder}`,
        `OPENAI_BASE_URL=${target.baseUrl}`,
        // Quoted only where a shell needs it, since Docker takes quotes as part of the value.
        `OPENAI_MODEL=${shellWord(target.model)}`,
        "",
      ].join("\n"),
      environment: [
        "set -a",
        `. ${pathWord(path)}`,
        "set +a",
        ...(placeholder === undefined ? exported({ OPENAI_API_KEY: `$${variable}` }) : []),
      ],
    };
  },
});
