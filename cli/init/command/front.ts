import { defined } from "@local-serving/base/faults/defined";
import { baseName } from "@local-serving/vllm/argv/unknown";
import { assigned, isAssignment } from "./assignments";
import { RESERVED } from "./blocks";
import { readDockerRun } from "./dockerOptions";

/** Programs that run what stands behind them, each with its options that take the next word. */
const WRAPPERS: Readonly<Record<string, RegExp>> = {
  sudo: /^(?:-[A-Za-z]*[CDghpRrTtUu]|--(?:user|group|host|prompt|chdir|chroot|role|type))$/,
  env: /^(?:-[A-Za-z0]*[uC]|--(?:unset|chdir))$/,
  time: /^(?:-[fo]|--(?:format|output))$/,
  exec: /^-[cl]*a$/,
  nohup: /^$/,
  command: /^$/,
};

/** Programs within each other that hand a command on, and shells, as deep as they are followed. */
export const DEEPEST = 4;

/** A command without what stands in front of it. */
export interface Fronted {
  readonly words: readonly string[];
  /** Variables that are set in front of it. */
  readonly own: ReadonlyMap<string, string>;
  /** It runs in a container or on a machine that has no variable of the shell's. */
  readonly isElsewhere: boolean;
  /** The machine that it runs on by ssh, as it is written there. */
  readonly host?: string;
  /** The container that it runs in by `docker exec`, as it is written there. */
  readonly container?: string;
}

/** A command without assignments and wrappers in front; what it exports goes into `exported`. */
export function withoutFront(
  command: readonly string[],
  exported: Map<string, string> = new Map(),
  depth = 0,
): Fronted {
  if (command[0] === "export")
    for (const [name, value] of command.slice(1).map(assigned)) exported.set(name, value);
  const own = new Map<string, string>();
  let start = 0;
  let takesNext: RegExp | undefined;
  for (; start < command.length; start++) {
    const word = command[start] ?? "";
    const name = baseName(word);
    if (isAssignment(word)) own.set(...assigned(word));
    else if (takesNext !== undefined && word.startsWith("-")) start += takesNext.test(word) ? 1 : 0;
    else if (Object.hasOwn(WRAPPERS, name)) takesNext = WRAPPERS[name];
    else if (RESERVED.has(word)) takesNext = undefined;
    else break;
  }
  const words = command.slice(start);
  return depth < DEEPEST ? handedOn(words, own, depth) : { words, own, isElsewhere: false };
}

/** The command that a program hands on to a shell, into a container or to another machine. */
function handedOn(
  words: readonly string[],
  own: ReadonlyMap<string, string>,
  depth: number,
): Fronted {
  const [program = "", ...rest] = words;
  const name = baseName(program);
  const given = Object.hasOwn(HANDS_ON, name) ? HANDS_ON[name]?.(rest) : undefined;
  if (given === undefined || given.length === 0) return { words, own, isElsewhere: false };
  const inner = withoutFront(given, new Map(), depth + 1);
  const isElsewhere = inner.isElsewhere || !IS_HERE.has(name);
  const host = name === "ssh" ? sshHost(rest) : inner.host;
  return {
    words: inner.words,
    own: isElsewhere ? inner.own : new Map([...own, ...inner.own]),
    isElsewhere,
    ...defined({ host, container: execContainer(name, rest) ?? inner.container }),
  };
}

/** Programs that hand a command on with the variables of the shell. */
const IS_HERE: ReadonlySet<string> = new Set(["tmux", "su", "runuser", "script"]);

/** Where a program has the command that it hands on; `undefined` where it hands on none. */
type Hands = (words: readonly string[]) => readonly string[] | undefined;

/** A text that a shell reads, as a command. */
const shellOf = (text: string): readonly string[] => ["sh", "-c", text];

/** Words behind a program's options; `takesNext` are the options with the next word as a value. */
function behindOptions(words: readonly string[], takesNext: RegExp): readonly string[] {
  let start = 0;
  while (words[start]?.startsWith("-") && words[start] !== "--")
    start += takesNext.test(words[start] ?? "") ? 2 : 1;
  return words.slice(words[start] === "--" ? start + 1 : start);
}

/** The text behind `-c`, which a shell of another user's reads. */
const behindC: Hands = (words) => {
  const at = words.findIndex((word) => /^(?:-[a-z]*c|--command)$/.test(word));
  const [, attached] =
    /^--command=([\s\S]*)$/.exec(words.find((each) => /^--command=/.test(each)) ?? "") ?? [];
  const text = attached ?? (at < 0 ? undefined : words[at + 1]);
  return text === undefined ? undefined : shellOf(text);
};

const TMUX_STARTS =
  /^(?:new(?:-session|-window)?|neww|split-window|splitw|respawn-(?:pane|window))$/;
const TMUX_KEYS = /^(?:send-keys|send)$/;

/** tmux gives one word to a shell, several to nobody, and types keys up to Enter. */
const byTmux: Hands = (words) => {
  const [verb = "", ...rest] = behindOptions(words, /^-[fLSTc]$/);
  if (TMUX_STARTS.test(verb)) {
    const given = behindOptions(rest, /^-[A-Za-z]*[ceFlnstxy]$/);
    return given.length === 1 ? shellOf(given[0] ?? "") : given;
  }
  if (!TMUX_KEYS.test(verb)) return undefined;
  const keys = behindOptions(rest, /^-[A-Za-z]*[ctN]$/);
  const enter = keys.findIndex((key) => /^(?:Enter|C-m|KPEnter)$/i.test(key));
  return shellOf(keys.slice(0, enter < 0 ? undefined : enter).join(""));
};

/** What a cluster is told to run: in a pod that is there, or as the `docker run` of its container. */
const byKubectl: Hands = (words) => {
  const [verb, name = "", ...rest] = behindOptions(
    words,
    /^(?:-[ns]|--(?:namespace|context|kubeconfig))$/,
  );
  const end = rest.indexOf("--");
  if (verb === "exec") return rest.slice(end < 0 ? rest.length : end + 1);
  if (verb !== "run" || name === "") return undefined;
  const options = end < 0 ? rest : rest.slice(0, end);
  const command = end < 0 ? [] : rest.slice(end + 1);
  const valuesOf = (option: string) =>
    options.flatMap((word, index) =>
      word === option
        ? (options[index + 1] ?? [])
        : word.startsWith(`${option}=`)
          ? word.slice(option.length + 1)
          : [],
    );
  const [image] = valuesOf("--image");
  if (image === undefined) return undefined;
  const isProgram = options.some((word) => word === "--command" || word === "--command=true");
  const [program = "", ...more] = command;
  const variables = valuesOf("--env").map((each) => `--env=${each}`);
  return isProgram
    ? ["docker", "run", ...variables, `--entrypoint=${program}`, image, ...more]
    : ["docker", "run", ...variables, image, ...command];
};

/** What runs in a container that is there already, with the variables that it is given. */
const byExec: Hands = (words) => {
  const [verb, ...rest] = containerVerb(words);
  if (verb !== "exec") return undefined;
  const { options, rest: command } = readDockerRun(rest);
  const variables = options.flatMap(({ name, value = "" }) =>
    name === "env" && isAssignment(value) ? [value] : [],
  );
  return ["env", ...variables, ...command];
};

/** The container of `docker exec`. */
const execContainer = (name: string, words: readonly string[]): string | undefined =>
  HANDS_ON[name] === byExec ? readDockerRun(containerVerb(words).slice(1)).image : undefined;

const SSH_TAKES_NEXT = /^-[A-Za-z0-9]*[BbcDEeFIiJLlmOopQRSWw]$/;

const sshHost = (words: readonly string[]): string | undefined =>
  behindOptions(words, SSH_TAKES_NEXT)[0];

const bySsh: Hands = (words) => {
  const [, ...more] = behindOptions(words, SSH_TAKES_NEXT);
  const text = behindOptions(more, SSH_TAKES_NEXT);
  return text.length === 0 ? undefined : shellOf(text.join(" "));
};

const HANDS_ON: Readonly<Record<string, Hands>> = {
  ...{ tmux: byTmux, kubectl: byKubectl, ssh: bySsh },
  ...{ su: behindC, runuser: behindC, script: behindC },
  ...{ docker: byExec, podman: byExec, nerdctl: byExec },
};

/** Options of a container program that take the next word. */
const CONTAINER_TAKES_NEXT =
  /^(?:-[acHln]|--(?:address|cgroup-manager|config|conmon|connection|context|data-root|host|identity|log-level|module|namespace|root|runroot|runtime|snapshotter|storage-(?:driver|opt)|tlscacert|tlscert|tlskey|tmpdir|url))$/;

/** What a container program is told to do, with the words behind it. */
export function containerVerb(words: readonly string[]): readonly string[] {
  const given = behindOptions(words, CONTAINER_TAKES_NEXT);
  return given[0] === "container" ? given.slice(1) : given;
}
