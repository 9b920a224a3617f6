import { defined } from "@local-serving/base/faults/defined";
import type { Follows } from "@local-serving/vllm/argv/shellScript";
import { isText, type Word } from "@local-serving/vllm/argv/unknown";
import { Blocks, type Decisions, RESERVED } from "./blocks";

/** A value that a variable has where the script takes these branches. */
export interface Alternative {
  readonly value: string;
  readonly decided: Decisions;
}

/** A value of an array by its key, and the array's other keys. */
export interface Picked {
  readonly name: string;
  readonly key: string;
  readonly value: string;
  readonly others: readonly string[];
}

/** What a script is told before it is read: variables, branches that it takes, and files beside it. */
interface Told {
  readonly variables?: ReadonlyMap<string, string> | undefined;
  readonly decided?: Decisions | undefined;
  /** The text of a file that it reads as a part of itself. */
  readonly beside?: ((name: string) => string | undefined) | undefined;
}

/** What a command with arguments prints, and nothing else, as `words.ts` has it while a script is read. */
const OUTPUT = /^\u{E000}\$\([^\u{E001}]*[\u{E004}-\u{E006}][^\u{E001}]*\u{E001}$/u;

/** Files that set the paths of programs, and nothing that a server is told. */
const OF_PROGRAMS =
  /(?:^|\/)(?:activate|setvars\.sh|conda\.sh|nvm\.sh|setup\.(?:ba)?sh|\.?(?:bashrc|zshrc|profile|bash_profile|bash\.bashrc))$/;

/** Commands that read a file as a part of the script. */
const SOURCES = new Set([".", "source"]);

/** None of a block's branches. */
const NO_BRANCH = -1;

/** More values than a menu has. */
const MOST_ALTERNATIVES = 16;

/** A file that a script writes by a here-document. */
export interface ScriptFile {
  readonly text: string;
  /** Its path, as the script has it. */
  readonly file?: string;
}

/** Commands that set variables by their arguments. */
const DECLARES = new Set(["export", "readonly", "local", "declare", "typeset"]);
/** Commands that set variables to what only they know. */
const READS = new Set(["read", "unset", "getopts", "mapfile", "readarray"]);
/** Programs that run a here-document. */
const RUNS = /(?:^|\/)(?:(?:ba|da|a|z|k)?sh|ssh)$/;
/**
 * How much values may add to a script, in characters or words: doubled a few times over, they would
 * fill the memory.
 */
const MOST = 1_000_000;
/** An option by its name alone: its value may be anything. */
const FLAG = /^--[a-z][\w-]*$/;
/** Most options of what a condition adds that are named. */
const MOST_FLAGS = 5;
/** `[KEY]=value`, as an array's own words have it, and `NAME[KEY]=value`. */
const SETS_KEY = /^([A-Za-z_]\w*)?\[([^\]]+)\]=([\s\S]*)$/;
/** `NAME=value` and `NAME+=value`. */
const SETS = /^([A-Za-z_]\w*)(\+?)=([\s\S]*)$/;

/**
 * Follows what a script has set so far, and which of its commands run only under a condition. A
 * variable that a condition sets is not known.
 */
export class ScriptState implements Follows {
  /** Commands that run only under a condition. */
  readonly optional = new Set<readonly Word[]>();
  /** Where commands begin in the script. */
  readonly places = new Map<readonly Word[], number>();
  /** Here-documents that are no commands. */
  readonly documents: ScriptFile[] = [];
  private readonly files = new Map<readonly Word[], string>();
  /** The command before, which may write what is piped to it. */
  private last: readonly Word[] = [];
  private readonly values = new Map<string, string>();
  private readonly arrays = new Map<string, Word[]>();
  /** Values of arrays by their keys. */
  private readonly elements = new Map<string, Map<string, string>>();
  private readonly undecided = new Set<string>();
  private readonly blocks = new Blocks();
  /** Values that were read of arrays with other keys beside theirs. */
  readonly picked: Picked[] = [];
  /** Values that a variable may have, by the branches that set them. */
  readonly alternatives = new Map<string, Alternative[]>();
  /** Places of the commands that read a file which isn't at hand. */
  readonly sourced: number[] = [];
  private added = 0;

  value(name: string, given: () => string | undefined): string | undefined {
    if (this.undecided.has(name)) return undefined;
    const value = this.values.get(name) ?? this.arrays.get(name)?.find(isText);
    const whole = value === undefined || value === "" ? (given() ?? value) : value;
    return this.adds(whole?.length ?? 0) ? whole : undefined;
  }

  array(name: string): readonly Word[] | undefined {
    const words = this.undecided.has(name) ? undefined : this.arrays.get(name);
    return this.adds(words?.length ?? 0) ? words : undefined;
  }

  element(name: string, key: string): string | undefined {
    if (this.undecided.has(name)) return undefined;
    const number = /^\d+$/.test(key) ? this.arrays.get(name)?.[Number(key)] : undefined;
    const keyed = this.elements.get(name);
    const value = keyed?.get(key) ?? (isText(number) ? number : undefined);
    const others = [...(keyed?.keys() ?? [])].filter((each) => each !== key);
    if (value !== undefined && others.length > 0) this.picked.push({ name, key, value, others });
    return this.adds(value?.length ?? 0) ? value : undefined;
  }

  /** Sets values of an array by their keys. */
  private setElements(name: string, words: readonly Word[]): void {
    const values = this.elements.get(name) ?? new Map<string, string>();
    for (const word of words) {
      const [, , key, value = ""] = (isText(word) && SETS_KEY.exec(word)) || [];
      if (key !== undefined) values.set(key, value);
    }
    this.elements.set(name, values);
  }

  /**
   * `standIn` makes the word that stands for what a condition adds to an array; `written` gives back
   * the text of such words, `undefined` where another program makes a part of it; `variables` are those
   * that the script is given.
   */
  constructor(
    private readonly standIn: (text: string) => string,
    private readonly written: (text: string) => string | undefined,
    { variables = new Map(), decided = new Map(), beside }: Told = {},
  ) {
    this.decided = decided;
    this.beside = beside;
    for (const [name, value] of variables) this.values.set(name, value);
  }

  private readonly decided: Decisions;
  private readonly beside: Told["beside"];

  /** Whether a command at this place runs, as far as the branches are decided. */
  private get runs(): "surely" | "perhaps" | "never" {
    const all = [...this.blocks.branches];
    if (all.some(([id, branch]) => (this.decided.get(id) ?? branch) !== branch)) return "never";
    const isSure = !this.blocks.isAnswer && all.every(([id]) => this.decided.has(id));
    return isSure ? "surely" : "perhaps";
  }

  setArray(name: string, words: readonly Word[], adds: boolean): void {
    if (this.runs === "never") return;
    const isOptional = this.runs === "perhaps";
    const kept = adds ? (this.arrays.get(name) ?? []) : [];
    if (isOptional && adds && !this.undecided.has(name)) {
      const flags = words.filter((word) => isText(word) && FLAG.test(word)).slice(0, MOST_FLAGS);
      const more = this.standIn(`${name}+=(${[...flags, "..."].join(" ")})`);
      if (!kept.slice(-MOST_FLAGS).includes(more)) kept.push(more);
      this.arrays.set(name, kept);
      return;
    }
    for (const word of words) kept.push(word);
    if (!adds) this.elements.delete(name);
    if (isOptional) this.lose(name);
    else {
      this.arrays.set(name, kept);
      this.setElements(name, words);
    }
    this.blocks.setHere(name);
  }

  ended(command: readonly Word[], by: string, at: number): boolean {
    this.places.set(command, at);
    if (command.length > 0) this.last = command;
    const { words, lost } = this.blocks.take(command.filter(isText), by);
    for (const name of lost) this.lose(name);
    const loops = words[0] === "for" || words[0] === "select";
    if (loops) this.loop(words);
    const { runs } = this;
    if (runs === "perhaps") this.optional.add(command);
    if (runs !== "never" && !loops) this.run(words);
    if (runs !== "never") this.source(words, at);
    this.blocks.next(words, by);
    return words.length > 0 && runs !== "never";
  }

  evaluated(command: readonly Word[]): string | undefined {
    const words = command.filter(isText);
    const at = words.findIndex((word) => !RESERVED.has(word) && !SETS.test(word));
    const [program = "", ...rest] = words.slice(Math.max(0, at));
    const text =
      program === "eval"
        ? this.written(rest.join(" "))
        : SOURCES.has(program)
          ? this.sourcedText(rest)
          : undefined;
    return text !== undefined && this.adds(text.length) ? text : undefined;
  }

  /** The text of a file that is read as a part of the script, where it is at hand. */
  private sourcedText([file = ""]: readonly string[]): string | undefined {
    return OF_PROGRAMS.test(file) ? undefined : this.beside?.(file);
  }

  /**
   * Takes a file that isn't at hand: what the script left empty before it, the file may have set.
   */
  private source([program = "", ...rest]: readonly string[], at: number): void {
    const [file = ""] = rest;
    if (!SOURCES.has(program) || file === "" || OF_PROGRAMS.test(file)) return;
    if (this.sourcedText(rest) !== undefined) return;
    this.sourced.push(at);
    for (const [name, value] of this.values) if (value === "") this.lose(name);
    for (const [name, words] of this.arrays) if (words.length === 0) this.lose(name);
  }

  document(text: string, command: readonly Word[], filled: () => string): boolean {
    const isScript =
      text.startsWith("#!") || command.some((word) => isText(word) && RUNS.test(word));
    if (isScript) return true;
    const file = this.fileOf(command) ?? this.fileOf(this.last);
    this.documents.push({ text: filled(), ...defined({ file }) });
    return false;
  }

  writes(command: readonly Word[], file: Word): void {
    if (isText(file)) this.files.set(command, file);
  }

  /** The file that a command writes: by its redirection, or as `tee` has it. */
  private fileOf(command: readonly Word[]): string | undefined {
    const words = command.filter(isText);
    const at = words.indexOf("tee");
    const named = at < 0 ? undefined : words.slice(at + 1).find((word) => !word.startsWith("-"));
    return named ?? this.files.get(command);
  }

  /** Whether so much more may come of values. */
  private adds(length: number): boolean {
    this.added += length;
    return this.added <= MOST;
  }

  private lose(name: string): void {
    this.undecided.add(name);
    this.arrays.delete(name);
  }

  private set(name: string, value: string): void {
    // What a program with arguments prints is called by the variable: another shell may read the text.
    if (OUTPUT.test(value)) this.lose(name);
    else if (this.runs === "perhaps") {
      this.maybe(name, value);
      if (this.values.get(name) !== value) this.lose(name);
    } else {
      this.values.set(name, value);
      this.undecided.delete(name);
    }
    this.blocks.setHere(name);
  }

  /** Keeps a value that a variable may have, and the one that it has otherwise. */
  private maybe(name: string, value: string, decided = this.blocks.branches): void {
    const found = this.alternatives.get(name) ?? [];
    const before = this.undecided.has(name) ? undefined : this.values.get(name);
    const block = [...decided.keys()].at(-1);
    if (block === undefined || this.blocks.isAnswer || found.length >= MOST_ALTERNATIVES) return;
    if (found.length === 0 && before !== undefined && before !== "")
      found.push({ value: before, decided: new Map([[block, NO_BRANCH]]) });
    found.push({ value, decided });
    this.alternatives.set(name, found);
  }

  /** Takes the variable of a loop: each of its words in turn. */
  private loop([, name = "", , ...words]: readonly string[]): void {
    const branches = [...this.blocks.branches];
    const [block = NO_BRANCH] = branches.at(-1) ?? [];
    const chosen = this.decided.get(block);
    if (chosen === undefined) {
      for (const [at, word] of words.entries())
        this.maybe(name, word, new Map([...branches.slice(0, -1), [block, at]]));
      this.lose(name);
    } else {
      this.blocks.enter(chosen);
      this.set(name, words[chosen] ?? "");
    }
  }

  private assign(word: string): void {
    const [, array = "", key] = SETS_KEY.exec(word) ?? [];
    if (key !== undefined) {
      if (this.runs === "perhaps") this.lose(array);
      else this.setElements(array, [word]);
      this.blocks.setHere(array);
      return;
    }
    const [, name, adds, value = ""] = SETS.exec(word) ?? [];
    if (name === undefined) return;
    this.set(name, adds === "+" ? (this.values.get(name) ?? "") + value : value);
  }

  /** What a command sets. */
  private run(words: readonly string[]): void {
    const [first = "", ...rest] = words;
    for (const name of readBy(first, rest)) this.lose(name);
    for (const word of assignmentsOf(first, rest)) this.assign(word);
  }
}

/** Variables that a command sets to what only it knows. */
const readBy = (first: string, rest: readonly string[]): readonly string[] =>
  READS.has(first) ? rest : [];

/** Assignments that stay: those of a declaration, and of a command that is nothing else. */
function assignmentsOf(first: string, rest: readonly string[]): readonly string[] {
  if (DECLARES.has(first)) return rest.filter((word) => !word.startsWith("-"));
  const words = [first, ...rest];
  return words.every((word) => SETS.test(word) || (/^\w+\[/.test(word) && SETS_KEY.test(word)))
    ? words
    : [];
}
