import { type ShellScope, simpleCommands } from "./shellScript";
import { type Subcommand, subcommandOf } from "./subcommands";
import { baseName, isText, UNKNOWN, type Word } from "./unknown";
import { readsVersions } from "./versionReadings";

/** The inference servers that a command line starts. */
export interface Invocations {
  /** For each server the words behind `vllm serve`, or behind the module of its API server. */
  readonly servers: readonly (readonly Word[])[];
  /** The same for each engine that serves nobody, such as that of `vllm bench latency`. */
  readonly engines: readonly (readonly Word[])[];
  /** What keeps the command line from being read to its end, in words for a person. */
  readonly unreadable: readonly string[];
  /** Every command that is run, those of shells included. */
  readonly commands: readonly (readonly Word[])[];
  /** The scripts of those shells, without what they only print or remark. */
  readonly scripts: readonly string[];
}

const SHELLS = new Set(["sh", "bash", "dash", "ash", "zsh", "ksh"]);
/** `-c`, also among other one-letter options (`-lc`, `-euc`). */
const SCRIPT_OPTION = /^-[a-z]*c$/;
/** Modules and files that take a server's arguments, whoever runs them (`-m`, `-Im`, gunicorn). */
const SERVER =
  /^(?:-[A-Za-z]*m)?vllm\.entrypoints\.(?!cli\.)[\w.]+(?::\w+)?$|(?:^|\/)vllm\/entrypoints\/(?!cli\/)[\w/]+\.py$/;
/** The command of vLLM; what stands behind it is a subcommand. */
const COMMAND =
  /(?:^|\/)vllm$|^(?:-[A-Za-z]*m)?vllm(?:\.entrypoints\.cli\.\w+)?$|\/vllm\/entrypoints\/cli\/\w+\.py$/;
/** vLLM in a shell's script or in Python. */
const MENTION =
  /\bvllm\s+serve\b|\bvllm[./]entrypoints|(?:^|[\n;'"])\s*(?:from\s+vllm\b|import\s[\w ,.]*\bvllm\b)|\(\s*\[?\s*['"]vllm['"]/;
const SHORTEST_BASE64 = 16;
const BASE64 = /[\w+/]{16,}={0,2}/g;
/** What a script only prints or searches for, its comments, and a look at vLLM's help. */
const ONLY_SAID =
  /\b(?:echo|printf)\s[^;\n|&<>$`()]*(?=$|[;\n])|\b(?:[ef]?grep|pgrep|pkill)\s[^;\n|&<>$`()]*|(?:^|\s)#[^\n]*|\bvllm\s+serve\s+(?:-h|--help(?:=[\w-]+)?)\s*(?=$|[\n;|&])/g;
/** Programs that only print, look for or end what their words name. */
const SAYS = new Set(["echo", "printf", "grep", "egrep", "fgrep", "pgrep", "pkill"]);
/** A shell runs text that the script made itself. */
const RUNS_TEXT = /\b(?:ba|da|a|z|k)?sh\b|\beval\b|\bsource\b|(?:^|[\s;&|])\.\s/;
/** Shells within shells that are followed; deeper ones are called unreadable. */
const DEEPEST_SHELL = 4;

/**
 * Finds `vllm serve`, modules such as `python -m vllm.entrypoints.openai.api_server`, and shells
 * that run them.
 */
export function serverInvocations(
  words: readonly Word[],
  variables: ShellScope["variables"],
  depth = 0,
): Invocations {
  const none = { servers: [], engines: [], unreadable: [], commands: [], scripts: [] };
  const script = scriptOfShell(words);
  if (script !== undefined) {
    const { text } = script;
    if (!isText(text)) return { ...none, unreadable: ["the script after `-c` is not known yet"] };
    if (depth === DEEPEST_SHELL)
      return { ...none, unreadable: ["its shells are nested too deeply to be read"] };
    const inner = simpleCommands(text, { parameters: script.parameters, variables }).map(
      (command) => serverInvocations(command, variables, depth + 1),
    );
    const servers = inner.flatMap((each) => each.servers);
    const unreadable = inner.flatMap((each) => each.unreadable);
    const commands = inner.flatMap((each) => each.commands);
    const said = withoutReadings(
      RUNS_TEXT.test(text) ? text : text.replace(ONLY_SAID, ""),
      commands,
    );
    if (servers.length > 0 && commands.some(isPiped))
      unreadable.push("a shell there reads its script from a pipe");
    if (servers.length === 0 && unreadable.length === 0 && mentionsServer(said))
      unreadable.push("its script mentions vLLM in a form that can't be read");
    return {
      servers,
      engines: inner.flatMap((each) => each.engines),
      unreadable,
      commands,
      scripts: [said, ...inner.flatMap((each) => each.scripts)],
    };
  }
  const start = startIn(words);
  if (start !== undefined) {
    const rest = [words.slice(start.at)];
    const started = start.does === "loads" ? { engines: rest } : { servers: rest };
    return { ...none, ...started, commands: [words] };
  }
  if (printsVersions(words)) return { ...none, commands: [words] };
  // What a shell prints, looks for, or ends is not a command.
  const prints = isText(words[0]) && SAYS.has(baseName(words[0]));
  const mention = words.some(
    (word) =>
      isText(word) && (holdsBase64(word) || (!prints && /[\s(]/.test(word) && MENTION.test(word))),
  );
  const unreadable = mention ? ["an argument mentions vLLM in a form that can't be read"] : [];
  return { ...none, unreadable, commands: [words] };
}

/** A shell without a script or a file. */
function isPiped([program, ...rest]: readonly Word[]): boolean {
  const isShell = isText(program) && SHELLS.has(baseName(program));
  return isShell && rest.every((word) => isText(word) && word.startsWith("-"));
}

/**
 * Whether a script, in a shell's language or Python, starts vLLM; base64 is read, no other code is.
 */
export const mentionsServer = (script: string): boolean =>
  MENTION.test(script) || holdsBase64(script);

const holdsBase64 = (text: string): boolean =>
  text.length >= SHORTEST_BASE64 &&
  (text.match(BASE64) ?? []).some((each) => MENTION.test(Buffer.from(each, "base64").toString()));

/** The script that a command gives to a shell (`bash -c SCRIPT`), and the parameters behind it. */
export function scriptOfShell(
  words: readonly Word[],
): { text: Word; parameters: readonly Word[] } | undefined {
  const shell = words.findIndex((word) => isText(word) && SHELLS.has(baseName(word)));
  if (shell < 0 || startIn(words.slice(0, shell)) !== undefined) return undefined;
  let isScript = false;
  for (let index = shell + 1; index < words.length; index++) {
    const word = words[index];
    // Options may follow `-c`, too: the script is the first word behind all of them.
    const ends = word === "--" || word === "-";
    if (ends || !isText(word) || !/^[-+]/.test(word)) {
      const at = ends ? index + 1 : index;
      return isScript ? { text: words[at] ?? UNKNOWN, parameters: words.slice(at + 1) } : undefined;
    }
    isScript ||= SCRIPT_OPTION.test(word);
    if (word === "-o" || word === "+o") index++;
  }
  return isScript ? { text: UNKNOWN, parameters: [] } : undefined;
}

/** Where the arguments of what a command starts begin. */
interface Start {
  readonly at: number;
  readonly does: Exclude<Subcommand["does"], "nothing">;
}

function startIn(words: readonly Word[]): Start | undefined {
  for (const [index, word] of words.entries()) {
    if (!isText(word) || !word.includes("vllm")) continue;
    if (SERVER.test(word)) return { at: index + 1, does: "serves" };
    if (!COMMAND.test(word)) continue;
    const { does = "nothing", length = 0 } = subcommandOf(words.slice(index + 1)) ?? {};
    if (does !== "nothing") return { at: index + 1 + length, does };
    // What is not known yet may be `serve`, and the arguments behind it. Elsewhere than in front the
    // word may be a host's name.
    if (
      typeof words[index + 1] === "symbol" &&
      words.slice(0, index).every((each) => each === "exec")
    )
      return { at: index + 1, does: "serves" };
  }
  return undefined;
}

/** Whether a command loads an engine of vLLM's that serves nobody. */
export const loadsEngine = (words: readonly Word[]): boolean => startIn(words)?.does === "loads";

/** The words behind `vllm` in a command that runs it first; `undefined` for any other command. */
export function behindVllm(words: readonly Word[]): readonly Word[] | undefined {
  const [program, option, module] = words;
  if (isText(program) && /(?:^|\/)vllm$/.test(program)) return words.slice(1);
  const isModule = isPython(program) && option === "-m";
  return isModule && isText(module) && COMMAND.test(module) ? words.slice(3) : undefined;
}

/** Whether a word names Python, of whichever version. */
export const isPython = (word: Word | undefined): boolean =>
  isText(word) && /^python[\d.]*$/.test(baseName(word));

/** Whether a command is Python with a text that prints versions, and nothing else. */
export function printsVersions([program, ...rest]: readonly Word[]): boolean {
  const [text] = rest.slice(-1);
  const options = rest.slice(0, -1);
  if (!isPython(program) || !isText(text) || !readsVersions(text)) return false;
  return options.at(-1) === "-c" && options.slice(0, -1).every((each) => each === "-I");
}

/** A script without the texts that only print versions. */
const withoutReadings = (script: string, commands: readonly (readonly Word[])[]): string =>
  commands
    .filter(printsVersions)
    .reduce((left, command) => left.replaceAll(String(command.at(-1)), ""), script);
