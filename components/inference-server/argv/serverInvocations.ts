import { type ShellScope, simpleCommands } from "./shellScript";
import { UNKNOWN } from "./unknown";
import { baseName, isText, type Word } from "./words";

/** The inference servers that a command line starts. */
export interface Invocations {
  /** For each server the words behind `vllm serve`, or behind the module of its API server. */
  readonly servers: readonly (readonly Word[])[];
  /** What keeps the command line from being read to its end, in words for a person. */
  readonly unreadable: readonly string[];
}

const SHELLS = new Set(["sh", "bash", "dash", "ash", "zsh", "ksh"]);
/** `-c`, also among other one-letter options (`-lc`, `-euc`). */
const SCRIPT_OPTION = /^-[a-z]*c$/;
const API_SERVER = "vllm.entrypoints.openai.api_server";
const MENTION = /\bvllm\s+serve\b|vllm\.entrypoints|\bvllm\/entrypoints/;
/** Shells within shells that are followed; deeper ones are called unreadable. */
const DEEPEST_SHELL = 4;

/** Finds `vllm serve`, `python -m vllm.entrypoints.openai.api_server` and shells that run them. */
export function serverInvocations(
  words: readonly Word[],
  variables: ShellScope["variables"],
  depth = 0,
): Invocations {
  const script = shellScript(words);
  if (script !== undefined) {
    if (!isText(script.text)) return { servers: [], unreadable: ["the script behind `-c` is not known yet"] };
    if (depth === DEEPEST_SHELL)
      return { servers: [], unreadable: ["shells are nested too deeply to be read"] };
    const inner = simpleCommands(script.text, { parameters: script.parameters, variables }).map((command) =>
      serverInvocations(command, variables, depth + 1),
    );
    const servers = inner.flatMap((each) => each.servers);
    const unreadable = inner.flatMap((each) => each.unreadable);
    if (servers.length === 0 && unreadable.length === 0 && MENTION.test(script.text)) {
      return { servers, unreadable: ["its script mentions vLLM in a form that can't be read"] };
    }
    return { servers, unreadable };
  }
  const start = serverStart(words);
  if (start !== undefined) return { servers: [words.slice(start)], unreadable: [] };
  const mention = words.find((word) => isText(word) && /\s/.test(word) && MENTION.test(word));
  // What a shell prints is no command.
  const prints = isText(words[0]) && ["echo", "printf"].includes(baseName(words[0]));
  return {
    servers: [],
    unreadable:
      mention === undefined || prints ? [] : ["an argument mentions vLLM in a form that can't be read"],
  };
}

function shellScript(words: readonly Word[]): { text: Word; parameters: readonly Word[] } | undefined {
  const shell = words.findIndex((word) => isText(word) && SHELLS.has(baseName(word)));
  if (shell < 0 || serverStart(words.slice(0, shell)) !== undefined) return undefined;
  for (let index = shell + 1; index < words.length; index++) {
    const word = words[index];
    if (!isText(word) || !/^[-+]/.test(word)) return undefined;
    if (SCRIPT_OPTION.test(word)) {
      return { text: words[index + 1] ?? UNKNOWN, parameters: words.slice(index + 2) };
    }
    if (word === "-o" || word === "+o") index++;
  }
  return undefined;
}

/** Index of the first word behind the server's own name. */
function serverStart(words: readonly Word[]): number | undefined {
  for (const [index, word] of words.entries()) {
    if (!isText(word)) continue;
    const next = words[index + 1];
    const afterNext = words[index + 2];
    if (baseName(word) === "vllm" && next === "serve") return index + 2;
    if (word === "-m" && next === API_SERVER) return index + 2;
    if (word === `-m${API_SERVER}`) return index + 1;
    if (
      word === "-m" &&
      isText(next) &&
      /^vllm(\.entrypoints\.cli\.main)?$/.test(next) &&
      afterNext === "serve"
    ) {
      return index + 3;
    }
    if (word.endsWith("vllm/entrypoints/openai/api_server.py")) return index + 1;
  }
  return undefined;
}
