import { StringDecoder } from "node:string_decoder";
import { setTimeout as sleep } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";
import { defined } from "../../../faults/defined";
import { redact } from "../../programs/redact";
import { BROKE_OFF, escaped, OPENS, RAISED, READY, type Sign, STOPPED, TROUBLE } from "./sign";

export interface Hit {
  /** The line, without secrets, cut to what is worth reading. */
  readonly line: string;
  /** What the pattern's groups caught; "" where a group took no part. */
  readonly groups: readonly string[];
  readonly lineNumber: number;
  readonly firstLineNumber: number;
  readonly count: number;
}

/** A log after it was read: the signs in it and nothing else, so that its size doesn't matter. */
export interface LogReading {
  readonly name: string;
  readonly kind: "container" | "kernel" | "service" | "file" | "probes";
  /** Container that wrote it, where that is known. */
  readonly container?: string;
  readonly hits: ReadonlyMap<Sign, Hit>;
  readonly lines: number;
  /** Why its end was not read. */
  readonly cutShort?: string;
}

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

/** A whole log of 100 MB takes a few seconds; a stream without end must not hold the command up. */
const SCAN_SECONDS = 30;

/**
 * Reads a log to its end, or for as long as the limits allow, keeping only what the signs ask for.
 */
export async function scanLog(
  about: Pick<LogReading, "name" | "kind" | "container">,
  chunks: AsyncIterable<Chunk> | Iterable<Chunk>,
  signs: readonly Sign[],
  { seconds = SCAN_SECONDS } = {},
): Promise<LogReading> {
  const literals = literalsOf.get(signs) ?? literalsIn(signs);
  literalsOf.set(signs, literals);
  const scanner = new Scanner(literals);
  const decode = decoderOf();
  const deadline = Date.now() + seconds * 1000;
  const iterator =
    Symbol.asyncIterator in chunks ? chunks[Symbol.asyncIterator]() : chunks[Symbol.iterator]();
  let cutShort: string | undefined;
  // A source that falls silent is left as well as one that never ends.
  const silence = new AbortController();
  const expired = sleep(seconds * 1000, undefined, { signal: silence.signal }).catch(
    () => undefined,
  );
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), expired]);
      if (next === undefined || Date.now() > deadline) {
        cutShort = `stopped after ${seconds} s, at line ${scanner.lines}`;
        break;
      }
      if (next.done === true) break;
      scanner.take(typeof next.value === "string" ? next.value : decode(next.value));
    }
  } finally {
    silence.abort();
  }
  return { ...about, hits: scanner.end(), lines: scanner.lines, ...defined({ cutShort }) };
}

type Chunk = Buffer | string;

/**
 * Bytes as text: UTF-8, unless the mark at the front says UTF-16, as a redirection in PowerShell
 * writes it.
 */
export function decoderOf(): (bytes: Buffer) => string {
  let decoder: StringDecoder | undefined;
  return (bytes) => {
    decoder ??= new StringDecoder(bytes[0] === 0xff && bytes[1] === 0xfe ? "utf16le" : "utf8");
    return decoder.write(bytes);
  };
}

type Match = Omit<Hit, "line" | "groups"> & { readonly match: RegExpExecArray };

interface Literals {
  /** Every literal at once: one pass over a line, instead of one for each of them. */
  readonly any: RegExp;
  /** Signs that a literal may belong to. */
  readonly signsOf: ReadonlyMap<string, readonly Sign[]>;
}

/** Every log of a machine is read for the same signs. */
const literalsOf = new WeakMap<readonly Sign[], Literals>();

function literalsIn(signs: readonly Sign[]): Literals {
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

class Scanner {
  lines = 0;
  private matches = new Map<Sign, Match>();
  /** Of the starts before. */
  private before = new Map<Sign, Match>();
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
  end(): ReadonlyMap<Sign, Hit> {
    if (this.rest !== "") this.endLine(this.rest);
    this.rest = "";
    return new Map(
      [...this.counting()].map(([sign, { match, ...where }]) => {
        const groups = match.slice(1).map((group: string | undefined) => group ?? "");
        return [sign, { line: excerpt(match.input, match.index), groups, ...where }];
      }),
    );
  }

  /**
   * Docker starts at once what failed: until that start is up or fails itself, what ended the one
   * before it counts.
   */
  private counting(): Map<Sign, Match> {
    const isDecided = [READY, TROUBLE, RAISED].some((sign) => this.matches.has(sign));
    return isDecided ? this.matches : new Map([...this.before, ...this.matches]);
  }

  private open(opening: Match): void {
    const ended = this.counting();
    if (ended.has(READY))
      for (const sign of ended.keys())
        if (sign.when === "start" || sign === READY) ended.delete(sign);
    const cut =
      this.matches.has(OPENS) && ![STOPPED, TROUBLE, RAISED].some((end) => this.matches.has(end));
    this.before = ended;
    this.matches = new Map(cut ? [[BROKE_OFF, opening]] : []);
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
    const line = (raw.includes("\u001b") ? stripVTControlCharacters(raw) : raw).slice(
      0,
      LINE_LIMIT,
    );
    const signs = new Set<Sign>();
    const { any, signsOf } = this.literals;
    any.lastIndex = 0;
    for (let found = any.exec(line); found !== null; found = any.exec(line)) {
      for (const sign of signsOf.get(found[0]) ?? []) signs.add(sign);
      // Literals may overlap.
      any.lastIndex = found.index + 1;
    }
    for (const sign of signs) this.match(sign, line);
  }

  private match(sign: Sign, line: string): void {
    // A prompt may say anything; vLLM prints prompts only when it is told to.
    if (line.includes("Received request ") && line.includes("prompt")) return;
    // The refusal that `serving verify` asks for.
    if (line.includes(UNKNOWN_TIER)) return;
    const match = sign.pattern.exec(line);
    if (match === null) return;
    if (sign.when === "opens")
      this.open({ match, lineNumber: this.lines, firstLineNumber: this.lines, count: 1 });
    const earlier = this.matches.get(sign);
    const count = (earlier?.count ?? 0) + 1;
    const firstLineNumber = earlier?.firstLineNumber ?? this.lines;
    const smaller = sign.keep === "largest" && Number(match[1]) < Number(earlier?.match[1]);
    const kept = earlier !== undefined && smaller ? earlier : { match, lineNumber: this.lines };
    this.matches.set(sign, { ...kept, firstLineNumber, count });
  }
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
