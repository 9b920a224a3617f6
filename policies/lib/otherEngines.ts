import {
  readServerArguments,
  type ServerArguments,
} from "@local-serving/vllm/argv/serverArguments";
import { isPython } from "@local-serving/vllm/argv/serverInvocations";
import { baseName, isText, SOME_WORDS, UNKNOWN, type Word } from "@local-serving/vllm/argv/unknown";
import known from "./otherEngines.json";

/** An engine that a command loads and that serves nobody. */
export interface Engine {
  /** What it asks, in vLLM's own options. */
  readonly args: ServerArguments;
  /** The option that sets its share. */
  readonly option: string;
}

const SHARE_OPTION = "--gpu-memory-utilization";

const PROGRAMS = known.programs.map(({ program, loads, leaves, share, option }) => ({
  program: new RegExp(program),
  loads: new RegExp(loads ?? ""),
  leaves: new RegExp(leaves ?? "(?!)"),
  share: String(share),
  option,
}));

const NAME = "(?:gpu[-_]memory[-_]utili[sz]ation|vllm[-_]gpu[-_]util)";
/** An option of another program's for vLLM's share, with its value behind it or in the next word. */
const OPTION = new RegExp(`^(--?[\\w.-]*${NAME})(?:=(.*))?$`);
/** The same as a key of a configuration or of JSON, or as an entry of a list. */
const KEYED = new RegExp(
  `(?<![^\\s,"'{.+])((?:[\\w-]+\\.)*(?:\\w+_)?${NAME})["']?\\s*[=:]\\s*["']?([-+.\\d][^\\s,;"'}]*)`,
  "g",
);

/** The share of memory, an option that tells vLLM and what wraps it even without GPUs. */
export const isShare = (word: string): boolean =>
  /^--(gpu|device)[-_]memory[-_]utilization(=|$)/.test(word);

/** Whether a command has that option. */
export const namesShare = (command: readonly Word[]): boolean =>
  command.some((word) => isText(word) && isShare(word));

/** An engine with vLLM's own options, such as that of `vllm bench latency`. */
export const ownEngine = (words: readonly Word[]): Engine => ({
  args: readServerArguments(words),
  option: SHARE_OPTION,
});

/** The engine that another program's command loads, with the largest share that it names. */
export function engineOf(command: readonly Word[]): Engine | undefined {
  const shares = command.flatMap((_, index) => sharesAt(command, index));
  const [first] = shares;
  const program = programOf(command);
  if (program !== undefined && mayHoldShare(command))
    return engine(UNKNOWN, first?.option ?? program.option);
  if (first === undefined) return program && engine(program.share, program.option);
  const unread = shares.find(({ value }) => !isText(value) || !(Number(value) > 0));
  const { value, option } =
    unread ?? shares.reduce((a, b) => (Number(b.value) > Number(a.value) ? b : a), first);
  return engine(value, option);
}

/** Options that take another program's arguments for its engine, such as lm-eval's. */
const ENGINE_ARGS = /^(?:-a|--\w+[-_]args)$/;

/** Whether words that are not known may hold a share, or a larger one than that which is named. */
const mayHoldShare = (command: readonly Word[]): boolean =>
  command.some((word, index) => {
    const before = command[index - 1];
    return word === SOME_WORDS || (word === UNKNOWN && isText(before) && ENGINE_ARGS.test(before));
  });

/** Whether a command is that of a program which is known to load vLLM. */
export const isEngineProgram = (command: readonly Word[]): boolean =>
  programOf(command) !== undefined;

const engine = (share: Word, option: string): Engine => ({
  args: readServerArguments([SHARE_OPTION, share]),
  option,
});

function sharesAt(command: readonly Word[], index: number): { value: Word; option: string }[] {
  const word = command[index];
  if (!isText(word)) return [];
  const [, option, value = command[index + 1] ?? UNKNOWN] = OPTION.exec(word) ?? [];
  if (option !== undefined) return [{ value, option }];
  return [...word.matchAll(KEYED)].map(([, key = "", keyed = ""]) => ({
    value: keyed,
    option: key,
  }));
}

/** Programs that run a Python module. */
const LAUNCHER = /^(?:accelerate|torchrun|deepspeed)$/;

function programOf(command: readonly Word[]) {
  const isCalled = (word: Word | undefined, name: RegExp) =>
    isText(word) && name.test(baseName(word));
  const end = command.findIndex((word) => isText(word) && word.startsWith("-"));
  const inFront = command.slice(0, end < 0 ? undefined : end);
  const modules = command.filter(
    (_, index) =>
      (command[index - 1] === "-m" || command[index - 1] === "--module") &&
      (isPython(command[index - 2]) || isCalled(command[0], LAUNCHER)),
  );
  const whole = command.map(String).join(" ");
  return PROGRAMS.find(
    ({ program, loads, leaves }) =>
      [...inFront, ...modules].some((word) => isCalled(word, program)) &&
      loads.test(whole) &&
      !leaves.test(whole),
  );
}
