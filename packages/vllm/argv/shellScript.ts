import { closing } from "./closing";
import { isText, SOME_WORDS, UNKNOWN, type Word } from "./unknown";

/**
 * What a script may refer to: the words behind `-c SCRIPT` ($0, $1, ...) and the container's
 * variables.
 */
export type ShellScope = {
  readonly parameters: readonly Word[];
  readonly variables: ReadonlyMap<string, Word>;
  /**
   * Text that stands for what only a shell knows, by the expansion as it is written; without it,
   * that is an unknown word.
   */
  readonly standIn?: (expansion: string) => string;
  /**
   * Told of each quote, `$(` or `${` that nothing closes, with its place in the script; the rest of
   * the script is read as if it ended there.
   */
  readonly unclosed?: (opener: string, at: number) => void;
  /** Follows what the script itself sets; without it nothing that it sets is known. */
  readonly follows?: Follows;
};

/** Keeps what a script sets, told of everything in the order of the script. */
export interface Follows {
  /**
   * The value of a variable that the script has set; `undefined` where that isn't known. `given`
   * is what it would be by the default that the script writes (`${NAME:-default}`).
   */
  value(name: string, given: () => string | undefined): string | undefined;
  /** The words of an array; `undefined` where they aren't known. */
  array(name: string): readonly Word[] | undefined;
  /** One value of an array, by its key or number; `undefined` where it isn't known. */
  element(name: string, key: string): string | undefined;
  /** Sets an array, or adds to it. */
  setArray(name: string, words: readonly Word[], adds: boolean): void;
  /**
   * Is told of each command, of the character that ends it, and of its place in the script. Says
   * whether it is a command.
   */
  ended(command: readonly Word[], by: string, at: number): boolean;
  /** Is told of the file that a command writes its output to. */
  writes(command: readonly Word[], file: Word): void;
  /** The text that a command runs as a part of the script (`eval`), where that is known. */
  evaluated(command: readonly Word[]): string | undefined;
  /**
   * Is told of a here-document, of its command, and of what it is with its variables filled in.
   * Says whether it is read as commands.
   */
  document(text: string, command: readonly Word[], filled: () => string): boolean;
}

/**
 * Splits a POSIX shell script into its simple commands, as far as can be told without running it:
 * quotes, escapes, comments, redirections, `"$@"` and the container's variables are followed; what
 * only a shell can know (a command's output, a variable that the image or the script itself sets)
 * becomes an unknown word.
 */
export function simpleCommands(script: string, scope: ShellScope): Word[][] {
  const reader = new ScriptReader(script, withoutAssigned(script, scope));
  return reader.read();
}

/**
 * A variable that the script sets, or parameters that it replaces, can't be followed by reading.
 */
function withoutAssigned(script: string, scope: ShellScope): ShellScope {
  const variables = new Map(scope.variables);
  for (const match of script.matchAll(/(?:^|[\s;&|({"'])([A-Za-z_]\w*)\+?=/g))
    variables.delete(match[1] ?? "");
  for (const match of script.matchAll(/\b(?:read|for|unset|getopts)\b([^;\n&|]*)/g)) {
    for (const name of (match[1] ?? "").split(/\s+/)) variables.delete(name);
  }
  const replaced = /(?:^|[\s;&|({])(?:set\s+(?:--|[^-+\s;])|shift\b)/.test(script);
  return { ...scope, variables, parameters: replaced ? ["sh", SOME_WORDS] : scope.parameters };
}

/** Substitutions and here-documents within each other that are followed. */
const DEEPEST = 20;

/** Longest `${...}` that is read, in characters. */
const LONGEST_EXPANSION = 1000;

/** The word behind `<<`. */
const DOCUMENT_END = /[ \t]*["'\\]?[\w.-]+["']?/y;

/** Letters that mean nothing to a shell: most of a script, which is taken piece by piece. */
const PLAIN = /[^ \t;&|()\n#'"\\$`<>]+/y;

/** Where a script stands that is a part of another. */
interface Place {
  /** Where it begins in the other one. */
  readonly begins: number;
  /** How many such parts it stands in. */
  readonly depth: number;
  /** It is a text, or a shell of its own, so that it sets nothing here. */
  readonly setsNothing?: true;
}

/** A here-document that begins behind its line. */
interface Document {
  readonly end: string;
  readonly indented: boolean;
  /** Its variables are filled in: nothing in its end is quoted. */
  readonly isFilled: boolean;
  readonly command: readonly Word[];
}

class ScriptReader {
  private at = 0;
  private commands: Word[][] = [];
  private command: Word[] = [];
  /** Where the command begins that is being read. */
  private begun = 0;
  /**
   * The word that is being read: its text so far, `undefined` between words, `UNKNOWN` once a part
   * is not known.
   */
  private word: string | undefined | typeof UNKNOWN;
  /** The next word names the file of a redirection. */
  private skipWord = false;
  /** That file is written, not read. */
  private isWritten = false;
  /** The array whose words are being read, and the command that it stands in. */
  private array: { name: string; adds: boolean; around: Word[] } | undefined;
  /** Ends of the here-documents that begin behind this line. */
  private documents: Document[] = [];

  constructor(
    private readonly script: string,
    private readonly scope: ShellScope,
    private readonly place: Place = { begins: 0, depth: 0 },
  ) {}

  read(): Word[][] {
    while (this.at < this.script.length) this.step();
    this.endCommand("\n");
    return this.commands;
  }

  private step(): void {
    PLAIN.lastIndex = this.at;
    const plain = PLAIN.exec(this.script)?.[0];
    if (plain !== undefined) {
      this.at += plain.length;
      this.append(plain);
      return;
    }
    this.special(this.script.charAt(this.at++));
  }

  /** Takes what begins or ends with a character that means something to a shell. */
  private special(char: string): void {
    switch (char) {
      case " ":
      case "\t":
        this.endWord();
        break;
      case "#":
        if (this.word === undefined) this.skipUntil("\n");
        else this.append(char);
        break;
      case "'":
        this.append(this.takeUntil("'", "'"));
        break;
      case '"':
        this.quoted();
        break;
      case "\\":
        this.escape();
        break;
      case "$":
        this.expansion(false);
        break;
      case "`":
        this.backticks(false);
        break;
      case "<":
      case ">":
        this.redirection();
        break;
      // One of `;`, `&`, `|`, a bracket and the line's end.
      default:
        this.separator(char);
    }
  }

  private separator(char: string): void {
    if (char === "(" && this.beginsArray()) return;
    if (this.array !== undefined && char === "\n") this.endWord();
    else if (this.array !== undefined && char === ")") this.endArray(this.array);
    else this.endCommand(char);
    if (char === "\n") this.takeDocuments();
  }

  /** Begins to read `NAME=(`, where arrays are followed. */
  private beginsArray(): boolean {
    if (this.scope.follows === undefined || !isText(this.word)) return false;
    const [, name, adds] = /^([A-Za-z_]\w*)(\+?)=$/.exec(this.word) ?? [];
    if (name === undefined || this.array !== undefined) return false;
    this.word = undefined;
    this.array = { name, adds: adds === "+", around: this.command };
    this.command = [];
    return true;
  }

  private endArray({ name, adds, around }: NonNullable<typeof this.array>): void {
    this.endWord();
    this.scope.follows?.setArray(name, this.command, adds);
    this.command = around;
    this.array = undefined;
  }

  /** Takes the here-documents of the line that has just ended. */
  private takeDocuments(): void {
    for (const { end, indented, isFilled, command } of this.documents.splice(0)) {
      const start = this.at;
      const lines: string[] = [];
      while (this.at < this.script.length) {
        const line = this.takeUntil("\n");
        if ((indented ? line.replace(/^\t+/, "") : line).trimEnd() === end) break;
        lines.push(line);
      }
      const written = lines.join("\n");
      const filled = () => (isFilled ? this.filled(written, start) : written);
      if (this.scope.follows?.document(written, command, filled) !== false && this.isShallow)
        this.commands.push(...new ScriptReader(written, this.scope, this.placeOf(start)).read());
    }
  }

  /** A here-document with its variables; what only a shell knows stands in it as `standIn` has it. */
  private filled(text: string, start: number): string {
    if (!/[$`\\]/.test(text) || !this.isShallow || this.scope.standIn === undefined) return text;
    // An apostrophe or a backtick of a text is none that somebody forgot to close.
    const { unclosed: _, ...scope } = this.scope;
    const reader = new ScriptReader(text, scope, { ...this.placeOf(start), setsNothing: true });
    return reader.readText();
  }

  /** The whole script as a text between double quotes, in which quotes mean nothing. */
  readText(): string {
    this.append("");
    while (this.at < this.script.length) {
      const plain = this.script.slice(this.at).search(/[$`\\]/);
      const end = plain < 0 ? this.script.length : this.at + plain;
      this.append(this.script.slice(this.at, end));
      this.at = end;
      const char = this.script.charAt(this.at++);
      if (char === "$") this.expansion(true);
      else if (char === "`") this.backticks(true);
      else if (char === "\\") this.quotedEscape();
    }
    return isText(this.word) ? this.word : this.script;
  }

  /** Whether parts of this one are still followed. */
  private get isShallow(): boolean {
    return this.place.depth < DEEPEST;
  }

  private placeOf(at: number): Place {
    return { begins: this.place.begins + at, depth: this.place.depth + 1 };
  }

  private append(text: string): void {
    if (this.word !== UNKNOWN) this.word = (this.word ?? "") + text;
  }

  private push(word: Word): void {
    // The character behind the word is read already.
    if (this.command.length === 0) this.begun = this.at - 1;
    if (!this.skipWord) this.command.push(word);
    else if (this.isWritten) this.scope.follows?.writes(this.command, word);
    this.skipWord = false;
  }

  private endWord(): void {
    if (this.word !== undefined) this.push(this.word);
    this.word = undefined;
  }

  private endCommand(by: string): void {
    this.endWord();
    const follows = this.place.setsNothing ? undefined : this.scope.follows;
    const text = this.isShallow ? follows?.evaluated(this.command) : undefined;
    if (text !== undefined)
      this.commands.push(...new ScriptReader(text, this.scope, this.placeOf(this.begun)).read());
    const isOne = follows?.ended(this.command, by, this.place.begins + this.begun) ?? true;
    if (isOne && text === undefined && this.command.length > 0) this.commands.push(this.command);
    this.command = [];
    this.skipWord = false;
  }

  private unclosed(opener: string, at: number): void {
    this.scope.unclosed?.(opener, this.place.begins + at);
  }

  /** Takes the text up to an end, and tells of the opener just before it where there is no end. */
  private takeUntil(end: string, opener = ""): string {
    const stop = this.script.indexOf(end, this.at);
    if (stop < 0 && opener !== "") this.unclosed(opener, this.at - opener.length);
    const text = this.script.slice(this.at, stop < 0 ? undefined : stop);
    this.at = stop < 0 ? this.script.length : stop + end.length;
    return text;
  }

  private skipUntil(end: string): void {
    this.takeUntil(end);
    this.at--;
    if (this.script.charAt(this.at) !== end) this.at++;
  }

  private backticks(quoted: boolean): void {
    const begins = this.at;
    this.substitution(this.takeUntil("`", "`"), begins, quoted);
  }

  /** A substitution's output is not known, but its command runs. */
  private substitution(script: string, begins: number, quoted: boolean): void {
    // What it sets is lost as it ends.
    const place = { begins: this.place.begins + begins, depth: this.place.depth + 1 };
    const inner = new ScriptReader(script, this.scope, { ...place, setsNothing: true });
    if (this.isShallow) for (const command of inner.read()) this.commands.push(command);
    this.value(this.unknown(`$(${script})`), quoted);
  }

  private unknown(expansion: string): Word {
    return this.scope.standIn?.(expansion) ?? UNKNOWN;
  }

  private escape(): void {
    const char = this.script.charAt(this.at++);
    if (char !== "\n") this.append(char);
  }

  private quoted(): void {
    const start = this.at - 1;
    this.append("");
    while (this.at < this.script.length) {
      const char = this.script.charAt(this.at++);
      if (char === '"') return;
      if (char === "$") this.expansion(true);
      else if (char === "`") this.backticks(true);
      else if (char === "\\") this.quotedEscape();
      else this.append(char);
    }
    this.unclosed('"', start);
  }

  private quotedEscape(): void {
    const next = this.script.charAt(this.at++);
    if (next === "\n") this.append("");
    else this.append('$`"\\'.includes(next) ? next : `\\${next}`);
  }

  private redirection(): void {
    if (isText(this.word) && /^\d*$/.test(this.word)) this.word = undefined;
    else this.endWord();
    const start = this.at - 1;
    while ("<>&-|".includes(this.script.charAt(this.at)) && this.at < this.script.length) this.at++;
    // A here-string is not a file: it may be the script of the shell before it.
    this.skipWord = !this.script.startsWith("<<<", start);
    const sign = this.script.slice(start, this.at);
    this.isWritten = /^>{1,2}\|?$/.test(sign);
    if (this.scope.follows === undefined || (sign !== "<<" && sign !== "<<-")) return;
    DOCUMENT_END.lastIndex = this.at;
    const [written = ""] = DOCUMENT_END.exec(this.script) ?? [];
    const end = written.replace(/["'\\\s]/g, "");
    const { command } = this;
    const isFilled = !/["'\\]/.test(written);
    if (end !== "") this.documents.push({ end, indented: sign === "<<-", isFilled, command });
  }

  private expansion(quoted: boolean): void {
    const rest = this.script.slice(this.at);
    if (rest.startsWith("(")) {
      this.group(rest, quoted);
      return;
    }
    const ansi = /^'((?:[^'\\]|\\.)*)'/s.exec(rest);
    if (ansi !== null && !quoted) {
      this.at += ansi[0].length;
      this.append(unescaped(ansi[1] ?? ""));
      return;
    }
    const braced = this.scope.follows === undefined ? BRACED.exec(rest) : bracedIn(rest);
    const bare = /^([A-Za-z_]\w*|\d|[@*#?$!-])/.exec(rest);
    const found = braced ?? bare;
    if (found === null) {
      if (rest.startsWith("{")) {
        this.at++;
        this.value(this.unknown(`\${${this.takeUntil("}", "${")}}`), quoted);
      } else this.append("$");
      return;
    }
    const [whole = "", name = "", operator = ""] = found;
    this.at += whole.length;
    if (this.arrayWords(name, operator, quoted) || this.otherWords(name, operator, quoted)) return;
    if (name === "@" || name === "*") this.parameters(quoted && name === "*");
    else this.value(this.lookUp(name, operator), quoted);
  }

  /** Puts the words of an array in (`${NAME[@]}`), where it is known. */
  private arrayWords(name: string, operator: string, quoted: boolean): boolean {
    const words = this.scope.follows?.array(name);
    const [, all = ""] = ARRAY.exec(operator) ?? [];
    if (words === undefined || all === "") return false;
    if (all === "*" && quoted) this.append(words.filter(isText).join(" "));
    else {
      // What stands before or behind it in one word would go to its first or last word.
      if (this.word === "") this.word = undefined;
      for (const word of words) this.push(word);
    }
    return true;
  }

  /** Puts in what stands in `${NAME:+words}`, where the script says whether NAME has a value. */
  private otherWords(name: string, operator: string, quoted: boolean): boolean {
    const [, sign, written = ""] = /^(:?)\+([\s\S]*)$/.exec(operator) ?? [];
    const value = sign === undefined ? undefined : this.scope.follows?.value(name, () => undefined);
    if (value === undefined || !this.isShallow) return false;
    if (value === "" && sign === ":") return true;
    const place = { ...this.placeOf(this.at), setsNothing: true } as const;
    if (quoted) {
      const text = this.textOf(written);
      if (text !== undefined) this.append(text);
      return text !== undefined;
    }
    for (const word of new ScriptReader(written, this.scope, place).read().flat()) {
      this.endWord();
      this.word = isText(word) ? word : UNKNOWN;
    }
    return true;
  }

  /** Takes the `(...)` of `$(...)`, with which the rest of the script starts. */
  private group(rest: string, quoted: boolean): void {
    const begins = this.at + 1;
    const end = closing(rest, 0, "()");
    if (end === undefined) this.unclosed("$(", this.at - 1);
    this.at += end === undefined ? rest.length : end + 1;
    this.substitution(rest.slice(1, end), begins, quoted);
  }

  private lookUp(name: string, operator: string): Word {
    if (name === "IFS" && !this.scope.variables.has(name)) return " ";
    if (this.scope.follows !== undefined) return this.followed(name, operator);
    const value = /^\d+$/.test(name)
      ? this.scope.parameters[Number(name)]
      : this.scope.variables.get(name);
    // `${NAME:-default}` is the value where there is one; any other operator changes it.
    if (operator !== "" && !/^:?[-?]/.test(operator)) return this.unknown(`$${name}`);
    return value === undefined || value === "" ? this.unknown(`$${name}`) : value;
  }

  /** The value of a variable that the script sets, or that it has a default for. */
  private followed(name: string, operator: string): Word {
    const [, written] = /^:?[-=]([\s\S]*)$/.exec(operator) ?? [];
    const plain = operator === "" || /^:?[-=?]/.test(operator);
    const given = () =>
      written === undefined || !this.isShallow ? undefined : this.textOf(written);
    const value = plain
      ? this.scope.follows?.value(name, given)
      : this.elementOf(name, KEYED.exec(operator)?.[1]);
    return value ?? this.unknown(operator === "" ? `$${name}` : `\${${name}${operator}}`);
  }

  /** The value of an array by a key, which may be a variable itself: `${NAME[$KEY]}`. */
  private elementOf(name: string, written: string | undefined): string | undefined {
    const key = written === undefined || !this.isShallow ? undefined : this.textOf(written);
    return key === undefined ? undefined : this.scope.follows?.element(name, key);
  }

  /** A default, expanded as between double quotes. */
  private textOf(written: string): string | undefined {
    const bare = /^(["'])([\s\S]*)\1$/.exec(written)?.[2] ?? written;
    const place = { begins: this.place.begins + this.at, depth: this.place.depth + 1 };
    const reader = new ScriptReader(`"${bare}"`, this.scope, { ...place, setsNothing: true });
    const [[word, ...more] = [""], ...others] = reader.read();
    return more.length + others.length === 0 && isText(word) ? word : undefined;
  }

  private value(value: Word, quoted: boolean): void {
    if (quoted) {
      if (isText(value)) this.append(value);
      else this.word = UNKNOWN;
    } else if (!isText(value)) {
      // Without quotes a shell splits the value, so it may be several words.
      this.word = undefined;
      this.push(SOME_WORDS);
    } else {
      const parts = value.split(/\s+/);
      parts.forEach((part, index) => {
        if (index > 0) this.endWord();
        if (part !== "") this.append(part);
      });
    }
  }

  /**
   * `"$@"` puts the parameters in as they are; joined into one word (`"$*"`) they are no longer
   * arguments.
   */
  private parameters(joined: boolean): void {
    const all = this.scope.parameters.slice(1);
    if (joined && all.every(isText)) {
      this.append(all.join(" "));
      return;
    }
    if (joined || (this.word !== undefined && this.word !== "")) {
      this.word = UNKNOWN;
      return;
    }
    this.word = undefined;
    for (const parameter of all) this.push(parameter);
  }
}

const BRACED = /^\{([A-Za-z_]\w*|\d+|[@*])([^}]*)\}/;

/** The key of one value of an array. */
const KEYED = /^\[([^@*][^\]]*)\]$/;

/** All words of an array, also in the form for one that may be empty. */
const ARRAY = /^\[([@*])\](?::?\+.*)?$/s;

/** `{NAME...}` at the start of a text, with the expansions inside it; `null` where it has no end. */
function bracedIn(text: string): readonly string[] | null {
  const [begins, name = ""] = /^\{([A-Za-z_]\w*|\d+|[@*])/.exec(text) ?? [];
  const end = begins === undefined ? undefined : closing(text, 0, "{}", LONGEST_EXPANSION);
  if (begins === undefined || end === undefined) return null;
  return [text.slice(0, end + 1), name, text.slice(begins.length, end)];
}

const ESCAPE = /\\(?:x([\da-f]{1,2})|u([\da-f]{1,4})|([0-7]{1,3})|(.))/gis;

/** What bash makes of `$'...'`. */
function unescaped(text: string): string {
  return text.replace(ESCAPE, (...[, x, u, octal, other]) =>
    other === undefined
      ? String.fromCharCode(Number.parseInt(octal ?? x ?? u, octal ? 8 : 16))
      : other,
  );
}
