/** Words that a shell reads before a command, and that are none. */
export const RESERVED: ReadonlySet<string> = new Set([
  ...["if", "then", "elif", "else", "while", "until", "do", "{", "}", "!", "fi", "done", "esac"],
]);

/** What a script decides only as it runs, by the word that begins it, and the word that ends it. */
const ENDS: Readonly<Record<string, string>> = {
  ...{ if: "fi", case: "esac", for: "done", while: "done", until: "done", select: "done" },
  "{": "}",
};

const CLOSERS = new Set(Object.values(ENDS));

/** Commands that ask something, so that what stands behind `&&` may not run. */
const ASKS = /^(?:\[\[?|test|e?grep|which|command|!)$/;

/** An `if`, a `case`, a loop or a function that a script is inside of. */
interface Block {
  /** Its number in the script. */
  readonly id: number;
  /** Which of its branches the script is in; `case` begins before the first. */
  branch: number;
  readonly begins: string;
  readonly isFunction: boolean;
  /** Variables that are set in it. */
  readonly sets: string[];
}

/** A branch of a block, by both of their numbers. */
export type Decisions = ReadonlyMap<number, number>;

/** A command without reserved words. */
export interface PlainCommand {
  readonly words: readonly string[];
  /** Variables that a function has set which ends with it. */
  readonly lost: readonly string[];
}

/** Follows which `if`, `case`, loop and function a script is inside of. */
export class Blocks {
  private readonly open: Block[] = [];
  private count = 0;
  /** The next brace begins the function that has just been named. */
  private names = false;
  /** The command before asked something, and what follows runs by its answer. */
  private isAsked = false;
  private before = { by: "", asks: false };

  /** Whether a command at this place may not run. */
  get isOptional(): boolean {
    return this.isAsked || this.open.some(({ begins }) => begins !== "{");
  }

  /** Whether a command at this place is one of a list, of which the answers of others decide. */
  get isAnswer(): boolean {
    return this.isAsked;
  }

  /** The branches that the script is inside of. */
  get branches(): Decisions {
    const decided = this.open.filter(({ begins }) => begins !== "{");
    return new Map(decided.map(({ id, branch }) => [id, branch]));
  }

  /** Says which branch of the block the script is in that has just begun. */
  enter(branch: number): void {
    const last = this.open.at(-1);
    if (last !== undefined) last.branch = branch;
  }

  setHere(name: string): void {
    this.open.at(-1)?.sets.push(name);
  }

  /** Takes the reserved words of a command, and the blocks that they begin and end. */
  take(command: readonly string[], by: string): PlainCommand {
    const isPattern = by === ")" && this.open.at(-1)?.begins === "case";
    const { start, lost } = this.takeReserved(command);
    // `NAME()` is a function's name.
    const isName = by === "(" && command.length === 1;
    if (isName) this.names = true;
    const isInline = command[start] === "case" && by === ")";
    const last = this.open.at(-1);
    if ((isPattern || isInline) && last?.begins === "case") last.branch++;
    return { lost, words: isPattern || isName || isInline ? [] : command.slice(start) };
  }

  /** Is told of what was taken, before the next command: it may run by the answer of this one. */
  next(words: readonly string[], by: string): void {
    const isDoubled = words.length === 0 && (by === "&" || by === "|") && by === this.before.by;
    if (isDoubled) this.isAsked = by === "|" || this.before.asks;
    else if (words.length > 0) this.isAsked = false;
    const asks = ASKS.test(words[0] ?? "") || (isDoubled && this.before.asks);
    this.before = { by, asks };
  }

  /** Where a command's own words start. */
  private takeReserved(command: readonly string[]): { start: number; lost: readonly string[] } {
    const lost: string[] = [];
    for (const [start, word] of command.entries()) {
      lost.push(...this.takeWord(word));
      const isReserved = RESERVED.has(word) || word === "function";
      if (word === "case" || !isReserved) return { start, lost };
    }
    return { start: command.length, lost };
  }

  /** Begins or ends a block; gives what the functions had set that end with the word. */
  private takeWord(word: string): readonly string[] {
    if (word === "function") this.names = true;
    const own = this.open.findLast(({ begins }) => begins === "if");
    if ((word === "elif" || word === "else") && own !== undefined) own.branch++;
    if (Object.hasOwn(ENDS, word)) this.begin(word);
    if (word === "{") this.names = false;
    return CLOSERS.has(word) ? this.close(word) : [];
  }

  private begin(word: string): void {
    const branch = word === "case" ? -1 : 0;
    this.open.push({ id: this.count++, branch, begins: word, isFunction: this.names, sets: [] });
  }

  private close(end: string): readonly string[] {
    const at = this.open.findLastIndex(({ begins }) => ENDS[begins] === end);
    const closed = at < 0 ? [] : this.open.splice(at);
    return closed.filter(({ isFunction }) => isFunction).flatMap(({ sets }) => sets);
  }
}
