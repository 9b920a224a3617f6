import { stripVTControlCharacters } from "node:util";
import { defined } from "@local-serving/base/faults/defined";
import { privateKeyLines, redact } from "../../programs/redact";
import { unpacked } from "./logLine";
import type { Hit, LastWord, LogReading } from "./logReading";
import { type Match, OneStart } from "./oneStart";
import { BROKE_OFF, ENDED, escaped, RAISED, READY, type Sign, STOPPED, TROUBLE } from "./sign";
import { startsIn } from "./starts";

/**
 * A tier that nobody pinned, which `serving verify` asks for: its 404 looks like a network failure
 * in a client.
 */
export const UNKNOWN_TIER = "claude-unpinned-tier";

/**
 * Longest part of a line that is looked at, in characters: an answer in JSON may be long, a binary
 * file endless.
 */
const LINE_LIMIT = 64 * 1024;

/** Anything that a person would see: no blanks, no codes of a terminal, no mark of an encoding. */
const VISIBLE = /[^\s\p{C}]/u;

export interface Literals {
  /** Every literal at once: one pass over a line, instead of one for each of them. */
  readonly any: RegExp;
  /** Signs that a literal may belong to. */
  readonly signsOf: ReadonlyMap<string, readonly Sign[]>;
}

export function literalsIn(signs: readonly Sign[]): Literals {
  const literals = [...new Set(signs.flatMap((each) => each.literals))].sort(
    (x, y) => y.length - x.length,
  );
  // A shorter literal inside of another one is not found on its own.
  const owners = (literal: string) =>
    signs.filter((each) => each.literals.some((inner) => literal.includes(inner)));
  return {
    any: new RegExp(literals.map(escaped).join("|"), "g"),
    signsOf: new Map(literals.map((literal) => [literal, owners(literal)])),
  };
}

/** What still counts of the starts that are over. */
interface Past {
  readonly signs: ReadonlyMap<Sign, Match>;
  readonly raised: LastWord | undefined;
}

const NOTHING: Past = { signs: new Map(), raised: undefined };

/** What was found so far, line by line; of a log with several starts only what still counts. */
export class Scanner {
  lines = 0;
  private starts = 1;
  private readonly begins = startsIn();
  private readonly isInKey = privateKeyLines();
  private now = new OneStart();
  private isOpened = false;
  private isEmpty = true;
  /** Of the starts before. */
  private before = NOTHING;
  /** What ended the newest start that had served, unless it was stopped. */
  private crash = NOTHING;
  private rest = "";
  /** Inside a line that was already longer than what is looked at. */
  private skipping = false;

  constructor(private readonly literals: Literals) {}

  take(text: string): void {
    const lines = (this.rest + text).split("\n");
    this.rest = lines.pop() ?? "";
    for (const line of lines) this.endLine(line);
    if (this.rest.length <= LINE_LIMIT && !this.skipping) return;
    this.endLine(this.rest);
    this.rest = "";
    this.skipping = true;
  }

  /**
   * What was found. Only the one line that each sign keeps is made fit to be shown, and only here.
   */
  end(): Omit<LogReading, "name" | "kind" | "container" | "cutShort"> {
    if (this.rest !== "") this.endLine(this.rest);
    this.rest = "";
    const own = this.counting();
    const hits = new Map([...this.crash.signs].map((each) => hitOf(each, true)));
    for (const each of own.signs) hits.set(...hitOf(each));
    const { lines, starts } = this;
    const raised =
      own.raised ?? (this.crash.raised && { ...this.crash.raised, afterServing: true as const });
    const empty = this.isEmpty || undefined;
    const [pulse, requests] = [this.now.pulse.end(), this.now.requests.end()];
    return { hits, lines, starts, pulse, requests, ...defined({ raised, empty }) };
  }

  /**
   * Docker starts at once what failed: until that start is up or fails itself, what ended the one
   * before it counts.
   */
  private counting(): Past {
    const { signs } = this.now;
    const raised = this.now.raised();
    const isDecided =
      raised?.isEnd === true || [READY, TROUBLE, RAISED].some((sign) => signs.has(sign));
    if (isDecided) return { signs, raised };
    return {
      signs: new Map([...this.before.signs, ...signs]),
      raised: this.before.raised ?? raised,
    };
  }

  /** What a program prints before its arguments belongs to its start, unless another one ends there. */
  private begin(line: string): void {
    const isFirst = !this.isOpened && !this.now.hasFailed() && !this.now.signs.has(READY);
    if (!isFirst) this.open(wholeLine(line, this.lines));
    this.isOpened = true;
  }

  private open(opening: Match): void {
    const { now } = this;
    const { signs, raised } = this.counting();
    const hadServed = now.signs.has(READY);
    const isCut =
      this.isOpened && ![STOPPED, ENDED, TROUBLE, RAISED].some((end) => now.signs.has(end));
    const broken = isCut ? [[BROKE_OFF, opening] as const] : [];
    if (hadServed) this.crash = now.isStopped ? NOTHING : crashOf(now, broken);
    // A start that came up had survived all that failed before.
    const isOver = signs.has(READY);
    const kept = [...signs].filter(
      ([sign]) => !isOver || (sign.when !== "start" && sign !== READY),
    );
    this.before = { signs: new Map(kept), raised: isOver ? undefined : raised };
    this.now = new OneStart();
    if (!hadServed) for (const each of broken) this.now.signs.set(...each);
    this.starts++;
  }

  /** A line has come to its end, or to the most of it that is looked at. */
  private endLine(line: string): void {
    if (!this.skipping) this.search(line);
    this.skipping = false;
  }

  /** Looks at a line, but only for the signs whose literals it contains. */
  private search(raw: string): void {
    this.lines++;
    // A colour in the middle of a line would hide what is looked for.
    const whole = unpacked(raw);
    const line = (whole.includes("\u001b") ? stripVTControlCharacters(whole) : whole).slice(
      0,
      LINE_LIMIT,
    );
    this.isEmpty &&= !VISIBLE.test(line);
    if (this.isInKey(line)) return;
    if (this.begins(line)) this.begin(line);
    if (isSaidByOthers(line)) return;
    const signs = new Set<Sign>();
    const { any, signsOf } = this.literals;
    any.lastIndex = 0;
    for (let found = any.exec(line); found !== null; found = any.exec(line)) {
      for (const sign of signsOf.get(found[0]) ?? []) signs.add(sign);
      // Literals may overlap.
      any.lastIndex = found.index + 1;
    }
    this.now.take(line, this.lines, signs);
  }
}

/** A prompt and an answer may say anything; and `serving verify` asks for one refusal itself. */
const isSaidByOthers = (line: string): boolean =>
  (line.includes("Received request ") && line.includes("prompt")) ||
  (line.includes("request_logger.py:") && line.includes("Generated ")) ||
  line.includes(UNKNOWN_TIER);

/** What ended a server that had served. */
function crashOf(start: OneStart, broken: readonly (readonly [Sign, Match])[]): Past {
  const raised = start.raised();
  return {
    signs: new Map([...start.failures(), ...broken]),
    raised: raised?.isEnd === true ? raised : undefined,
  };
}

function wholeLine(line: string, lineNumber: number): Match {
  const match = /^/.exec(line) as RegExpExecArray;
  return { match, lineNumber, firstLineNumber: lineNumber, count: 1 };
}

/** A match as it is shown. */
function hitOf([sign, { match, ...where }]: readonly [Sign, Match], isPast = false): [Sign, Hit] {
  const groups = match.slice(1).map((group: string | undefined) => group ?? "");
  const line = excerpt(match.input, match.index);
  return [sign, { line, groups, ...where, ...(isPast ? { afterServing: true } : {}) }];
}

/** Characters of a line that are shown, and how many of them come before the sign. */
const SHOWN = 400;
const SHOWN_BEFORE = 120;

/**
 * Redacted before it is cut, so that no cut makes a secret unrecognizable; a window around the sign
 * bounds the work.
 */
function excerpt(line: string, index: number): string {
  const from = Math.max(0, index - 4 * SHOWN);
  // Half a secret could not be told from other text, so the word that the window cuts is left out.
  const window = line.slice(from, index + 8 * SHOWN).replace(from > 0 ? /^\S*/ : "", "");
  const safe = redact(window).trim();
  if (safe.length <= SHOWN) return safe;
  const start = Math.max(0, Math.min(index - from - SHOWN_BEFORE, safe.length - SHOWN));
  return `${start > 0 ? "... " : ""}${safe.slice(start, start + SHOWN)}${start + SHOWN < safe.length ? " ..." : ""}`;
}
