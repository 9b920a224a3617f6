import { PI_PROVIDER } from "./pi";
import type { ClientName } from "./plannedClients";
import type { ClientTarget } from "./target";

/** What a launcher has to know of the program that it starts. */
export interface Launcher {
  readonly client: ClientName;
  /** Name of the launcher itself. */
  readonly name: string;
  /** The program's own name, and what a person calls it. */
  readonly program: string;
  readonly title: string;
  /** Where it is from, for the sentence that says it is missing; `undefined` where anything may be started. */
  readonly install: string | undefined;
  /** Its own file holds the placeholder, so the shell's key plays no part. */
  readonly keyInFile: boolean;
  /** Lines that set up its environment, behind the key. */
  readonly environment: readonly string[];
  /** Words between the program's name and the user's own arguments. */
  readonly words: readonly string[];
}

/** Places of the files that launchers point at. */
export interface LauncherFiles {
  /** Configuration of this client. */
  readonly config: string;
  /** Folder that holds it. */
  readonly folder: string;
  readonly codexProfile: string;
}

/** The launcher of each client, before the server that it checks. */
export function launcherOf(client: ClientName, target: ClientTarget, files: LauncherFiles): Launcher {
  const config = quoted(files.config);
  const npm = (name: string) => `npm install -g ${name}`;
  switch (client) {
    case "claude-code":
      return {
        client,
        name: "local-claude",
        program: "claude",
        title: "Claude Code",
        install: npm("@anthropic-ai/claude-code"),
        keyInFile: target.key.placeholder !== undefined,
        environment: [
          "# Both keys would be sent, and this one belongs to somebody else's server.",
          "unset ANTHROPIC_API_KEY",
          ...(target.key.placeholder === undefined
            ? [`ANTHROPIC_AUTH_TOKEN=$${target.key.variable}`, "export ANTHROPIC_AUTH_TOKEN"]
            : []),
        ],
        words: ["--settings", config],
      };
    case "codex":
      return {
        client,
        name: "local-codex",
        program: "codex",
        title: "Codex",
        install: npm("@openai/codex"),
        keyInFile: false,
        environment: [`CODEX_HOME=${quoted(files.folder)}`, "export CODEX_HOME"],
        words: ["--profile", quoted(files.codexProfile)],
      };
    case "opencode":
      return {
        client,
        name: "local-opencode",
        program: "opencode",
        title: "opencode",
        install: npm("opencode-ai"),
        keyInFile: false,
        environment: [
          `OPENCODE_CONFIG=${config}`,
          "OPENCODE_DISABLE_MODELS_FETCH=1",
          "export OPENCODE_CONFIG OPENCODE_DISABLE_MODELS_FETCH",
        ],
        words: [],
      };
    case "pi":
      return {
        client,
        name: "local-pi",
        program: "pi",
        title: "pi",
        install: npm("@earendil-works/pi-coding-agent"),
        keyInFile: false,
        environment: [
          `PI_CODING_AGENT_DIR=${quoted(files.folder)}`,
          "PI_OFFLINE=1",
          "export PI_CODING_AGENT_DIR PI_OFFLINE",
        ],
        words: ["--model", quoted(`${PI_PROVIDER}/${target.model}`)],
      };
    case "qwen-code":
      return {
        client,
        name: "local-qwen",
        program: "qwen",
        title: "Qwen Code",
        install: npm("@qwen-code/qwen-code"),
        keyInFile: false,
        environment: [`QWEN_CODE_SYSTEM_SETTINGS_PATH=${config}`, "export QWEN_CODE_SYSTEM_SETTINGS_PATH"],
        words: [],
      };
    case "client-env":
      return {
        client,
        name: "local-env",
        program: '"$1"',
        title: "any chat-completions client (`local-env PROGRAM ARGUMENTS`)",
        install: undefined,
        keyInFile: target.key.placeholder !== undefined,
        environment: [
          "set -a",
          `. ${config}`,
          "set +a",
          ...(target.key.placeholder === undefined
            ? [`OPENAI_API_KEY=$${target.key.variable}`, "export OPENAI_API_KEY"]
            : []),
        ],
        words: [],
      };
  }
}

/** A word in single quotes, as a POSIX shell takes it literally. */
export function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
