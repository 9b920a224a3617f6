import { redact } from "../../programs/redact";
import { secondsIn } from "./logLine";

/** Requests run or wait, and no token was made up to the end of a log. */
export interface NoTokens {
  readonly seconds: number;
  /** The clock of its beginning, as the log has it. */
  readonly since: string;
  readonly running: number;
  readonly waiting: number;
  /** More requests wait than at its beginning. */
  readonly grows: boolean;
  /** What runs and what the cache holds stayed the same: no part of a prompt was read either. */
  readonly standsStill: boolean;
  /** /health answered meanwhile. */
  readonly isHealthy: boolean;
  /** The newest of its lines. */
  readonly line: string;
}

/** How a start that isn't up goes on, by the log's own clock. */
export interface StartPulse {
  /** From its first line to its last. */
  readonly seconds: number;
  readonly since: string;
  /** How long no line said anything new, up to the end of the log. */
  readonly silentSeconds: number;
  readonly silentSince: string;
  /** The last line that said something new, and the last line of all. */
  readonly newest: string;
  readonly last: string;
}

/** What a log's own clock and figures tell. */
export interface Pulse {
  readonly noTokens?: NoTokens;
  readonly start?: StartPulse;
  /** The lowest figure of an interval in which prompts were read, in tokens a second. */
  readonly promptRate?: number;
}

/** vLLM v1/metrics/loggers.py. */
const FIGURES =
  /(?:Engine (\d+): )?Avg prompt throughput: ([\d.]+) tokens\/s, Avg generation throughput: ([\d.]+) tokens\/s, Running: (\d+) reqs, Waiting: (\d+) reqs(?:.{0,120}?KV cache usage: ([\d.]+)%)?/;

/** Below it an interval of ten seconds was mostly idle, and tells no rate. */
const BUSY_RATE = 200;

const CLOCK = /\d\d-\d\d \d\d:\d\d:\d\d|\d{4} \d\d:\d\d:\d\d/;
const clockIn = (line: string): string => CLOCK.exec(line)?.[0] ?? "";

/** Different lines that are told apart, and characters of each. */
const KNOWN_LINES = 4000;
const KNOWN_CHARACTERS = 160;
const SHOWN = 300;
const ENGINES = 64;

/** What a process says that waits for another one. */
const WAITS = /No available shared memory broadcast block|[Ww]aiting for # local/;

/** A share or a count that something has come to. */
const COUNTS = /\d+ ?%|\b\d+\/\d+\b/g;

interface Figures {
  readonly clock: number;
  readonly line: string;
  readonly running: number;
  readonly waiting: number;
  readonly usage: string | undefined;
}

/** The intervals of an engine in which nothing was made, from the first to the newest. */
interface Still {
  readonly first: Figures;
  newest: Figures;
  isSame: boolean;
  isHealthy: boolean;
  /** How often the engine said that its workers took nothing for a minute. */
  waits: number;
  /** Clock of the last line that says that the engine waits: one step may take a minute. */
  until?: number;
}

/** The clock and the figures of one start. */
export class PulseReader {
  private promptRate: number | undefined;
  private readonly still = new Map<string, Still>();
  private readonly known = new Map<string, string>();
  private first: { clock: number; line: string } | undefined;
  private newest: { clock: number; line: string } | undefined;
  private last: { clock: number; line: string } | undefined;
  /** Something new was said in a line without a clock. */
  private isNew = false;

  /** One more line; `isUp` once the server serves. */
  take(line: string, isUp: boolean): void {
    if (line.includes("Avg prompt throughput")) this.takeFigures(line);
    else if (this.still.size > 0) this.takeMeanwhile(line);
    if (!isUp) this.takeStart(line);
  }

  /** What is said while nothing is made: figures may not come any more. */
  private takeMeanwhile(line: string): void {
    const isHealthy = line.includes('"GET /health ') && line.includes('" 200');
    const clock = WAITS.test(line) ? secondsIn(line) : undefined;
    for (const each of this.still.values()) {
      each.isHealthy ||= isHealthy;
      if (clock === undefined) continue;
      each.waits++;
      if (each.waits > 1) each.until = clock;
    }
  }

  private takeFigures(line: string): void {
    const match = FIGURES.exec(line);
    const clock = secondsIn(line);
    if (match === null || clock === undefined) return;
    const [, engine = "", prompt, generation, runs, waits, usage] = match;
    const [running, waiting] = [Number(runs), Number(waits)];
    const rate = Number(prompt);
    if (rate >= BUSY_RATE) this.promptRate = Math.min(rate, this.promptRate ?? rate);
    const isStill = rate === 0 && Number(generation) === 0 && running + waiting > 0;
    if (!isStill) this.still.delete(engine);
    else if (this.still.size < ENGINES) this.rest(engine, { clock, line, running, waiting, usage });
  }

  private rest(engine: string, now: Figures): void {
    const known = this.still.get(engine);
    if (known === undefined) {
      this.still.set(engine, { first: now, newest: now, isSame: true, isHealthy: false, waits: 0 });
      return;
    }
    known.isSame &&= known.newest.running === now.running && known.newest.usage === now.usage;
    known.newest = now;
  }

  private takeStart(line: string): void {
    const clock = secondsIn(line);
    if (this.saysNew(line)) {
      this.isNew = true;
      if (clock === undefined && this.newest !== undefined) this.newest.line = line;
    }
    if (clock === undefined) return;
    const now = { clock, line };
    this.first ??= now;
    this.last = now;
    if (this.isNew) this.newest = { ...now };
    this.isNew = false;
  }

  /** Whether no line before said the same, but for its figures; a share may grow. */
  private saysNew(line: string): boolean {
    const key = line
      .slice(0, 4 * KNOWN_CHARACTERS)
      .replace(/\d+/g, "#")
      .slice(0, KNOWN_CHARACTERS);
    if (/^\s*$/.test(key) || WAITS.test(key)) return false;
    const counts = (line.slice(0, 4 * KNOWN_CHARACTERS).match(COUNTS) ?? []).join(" ");
    const before = this.known.get(key);
    if (before === counts) return false;
    if (before === undefined && this.known.size >= KNOWN_LINES) this.known.clear();
    this.known.set(key, counts);
    return true;
  }

  end(): Pulse {
    const noTokens = [...this.still.values()].map(noTokensOf).sort((x, y) => y.seconds - x.seconds);
    const { promptRate, first, newest, last } = this;
    return {
      ...(noTokens[0] === undefined ? {} : { noTokens: noTokens[0] }),
      ...(promptRate === undefined ? {} : { promptRate }),
      ...(first === undefined || newest === undefined || last === undefined
        ? {}
        : {
            start: {
              seconds: last.clock - first.clock,
              since: clockIn(first.line),
              silentSeconds: last.clock - newest.clock,
              silentSince: clockIn(newest.line) || clockIn(first.line),
              newest: shown(newest.line),
              last: shown(last.line),
            },
          }),
    };
  }
}

function noTokensOf({ first, newest, isSame, isHealthy, until = 0 }: Still): NoTokens {
  return {
    seconds: Math.max(newest.clock, until) - first.clock,
    since: clockIn(first.line),
    running: newest.running,
    waiting: newest.waiting,
    grows: newest.waiting > first.waiting,
    standsStill: isSame && newest !== first && newest.usage !== undefined,
    isHealthy,
    line: shown(newest.line),
  };
}

const shown = (line: string): string =>
  redact(line.slice(0, 2 * SHOWN))
    .trim()
    .slice(0, SHOWN);
