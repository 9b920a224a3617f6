import { POINTS_ELSEWHERE } from "@local-serving/base/faults/lastWords";
import { redact } from "../../programs/redact";
import { LAST_WORDS, type LastWords, WORTH_READING } from "./lastWords";
import { type LogLine, logLine } from "./logLine";
import type { Hit, LastWord, Raised } from "./logReading";
import { PulseReader } from "./pulse";
import { RequestReader } from "./requests";
import { ANSWERED, ASKED_TO_STOP, RAISED, READY, type Sign, TOLD_TO_STOP, TROUBLE } from "./sign";
import { inOneLine, Traceback } from "./traceback";

/** A sign as it was seen; only what is shown in the end is made fit for that. */
export type Match = Omit<Hit, "line" | "groups"> & { readonly match: RegExpExecArray };

/**
 * What a line means for the end of its program: it `ends` it, it `points` to what ended it, or it
 * was only `logged`.
 */
type Weight = "ends" | "points" | "logged";

interface Candidate {
  readonly lineNumber: number;
  readonly process: string;
  /** A logger wrote it, as vLLM's processes do for what they can't survive. */
  readonly isLogged: boolean;
  readonly told: () => Raised;
  readonly traceback?: Traceback;
}

/** Processes whose tracebacks are followed at the same time. */
const PROCESSES = 64;
/** Lines of anybody after which an unfinished traceback is left. */
const PATIENCE = 2000;
/** Lines that may come between a line and the traceback that it introduces. */
const NEARBY = 20;
/** Lines in which last words go on. */
const GOES_ON_WITHIN = 2;
/** Characters of a line that are looked at. */
const LOOKED_AT = 4000;

const POINTS = new RegExp(POINTS_ELSEWHERE);
/** What is raised where another process is gone; where nothing else is said, it is the cause. */
const GONE =
  /^RuntimeError: cancelled$|^(?:\w+\.)*(?:EOFError|BrokenPipeError|Connection\w*Error|ProcessLookupError|Dist(?:Network|Store)Error)\b/;
/** What is raised in a program that is told to end. */
const NO_CAUSE = /^(?:\w+\.)*(?:KeyboardInterrupt|SystemExit|CancelledError|GeneratorExit)\b/;
/** The cause, inside of what points to it. */
const WORKER_FAILED = /Worker failed with error ['"](.+?)['"], please check/;

/** How a program introduces a traceback that it survives. */
const SURVIVES =
  /Exception in ASGI application|Exception ignored|never retrieved|Logging error|Exception in (?:callback|thread)/;
/** What a client's library raises of a request, and whoever uses it answers with. */
const OF_A_REQUEST = /^(?:litellm|openai|anthropic)\.(?:\w+\.)*\w*(?:Error|Exception|Timeout)\b/;
/** How vLLM's logger introduces what a process ends of. */
const ENDS =
  /failed to start|fatal error|hit an exception|output_handler failed|initialization failed/i;

/** A line of the access log, or one that may say why a request is refused. */
const OF_REQUESTS = /" \d{3}\b|\b(?:ERROR|WARNING) \d\d-\d\d /;

/** A request was answered, or the engine writes: this process goes on. */
const GOES_ON = /HTTP\/[\d.]+" 2\d\d|Avg generation throughput/;
/** A request was refused: what was raised before it in the same process was its answer. */
const REFUSES = /HTTP\/[\d.]+" 4\d\d/;
/** The engine answers, and so do its workers: all of them survived what they logged. */
const ENGINE_GOES_ON = /Avg generation throughput|"POST \S+ HTTP\/[\d.]+" 200/;

/**
 * One start of a server, line by line: the signs in it, and what ended it, which is the first thing
 * raised that ends a process and isn't only a consequence. It keeps some lines of each process, and
 * no log.
 */
export class OneStart {
  readonly signs = new Map<Sign, Match>();
  readonly pulse = new PulseReader();
  readonly requests = new RequestReader();
  /** Somebody stops it: what is raised from here on comes of that. */
  isStopped = false;
  private readonly tracebacks = new Map<string, Traceback>();
  /** The last line of each process that may introduce a traceback. */
  private readonly introductions = new Map<string, { text: string; lineNumber: number }>();
  /** Last words that go on in the next line of their process. */
  private pending:
    | {
        readonly goesOn: RegExp;
        readonly process: string;
        readonly heard: { said: string };
        readonly lineNumber: number;
      }
    | undefined;
  private begunAt = 0;
  private readonly best: Partial<Record<Weight, Candidate>> = {};

  /** One more line, which may show these signs. */
  take(line: string, lineNumber: number, signs: Iterable<Sign>): void {
    if (!this.isStopped) {
      this.raise(line, lineNumber);
      this.pulse.take(line, this.signs.has(READY));
    }
    for (const sign of signs) this.match(sign, line, lineNumber);
  }

  /** What it ended of; where nothing says that it ended, what was logged last. */
  raised(): LastWord | undefined {
    const { ends, points, logged } = this.best;
    const best = ends ?? logged ?? points;
    const raised = best?.told();
    if (raised === undefined || (best === points && POINTS.test(raised.line))) return undefined;
    const isEnd = best !== logged || points !== undefined;
    return { ...raised, isEnd, hadServed: this.signs.has(READY) };
  }

  /** Signs of a failed start that came after the server was up, if it was. */
  failures(): (readonly [Sign, Match])[] {
    const ready = this.signs.get(READY)?.lineNumber ?? 0;
    return [...this.signs].filter(
      ([sign, { lineNumber }]) => sign.when === "start" && lineNumber > ready,
    );
  }

  /** Whether something ended this start, or its server. */
  hasFailed(): boolean {
    return this.raised()?.isEnd === true || this.failures().length > 0;
  }

  private match(sign: Sign, line: string, lineNumber: number): void {
    // What is raised while a server ends because it was told to is no trouble.
    if (this.isStopped && (sign.when === "start" || sign === TROUBLE || sign === RAISED)) return;
    const match = sign.pattern.exec(line);
    if (match === null) return;
    if (sign.notWarned === true && logLine(line).level === "WARNING") return;
    if (sign === READY) this.survives();
    if (sign === ASKED_TO_STOP || sign === TOLD_TO_STOP) this.stop(sign);
    const earlier = this.signs.get(sign);
    const count = (earlier?.count ?? 0) + 1;
    const firstLineNumber = earlier?.firstLineNumber ?? lineNumber;
    const smaller = sign.keep === "largest" && Number(match[1]) < Number(earlier?.match[1]);
    const kept = earlier !== undefined && smaller ? earlier : { match, lineNumber };
    this.signs.set(sign, { ...kept, firstLineNumber, count });
  }

  /** The server is up: it survived whatever was raised before. */
  private survives(): void {
    for (const weight of ["ends", "points", "logged"] as const) delete this.best[weight];
    this.tracebacks.clear();
  }

  /** A server that serves is stopped; one that has failed by itself only ends. */
  private stop(sign: Sign): void {
    this.isStopped ||= !this.hasFailed() && (sign !== TOLD_TO_STOP || this.signs.has(READY));
  }

  /** A line that may be part of what ended it. */
  private raise(raw: string, lineNumber: number): void {
    const shown = raw.length > LOOKED_AT ? raw.slice(0, LOOKED_AT) : raw;
    if (this.best.ends !== undefined) this.goesOn(this.best.ends, shown);
    const isBusy = this.tracebacks.size > 0 || this.pending !== undefined;
    const isOfRequests = this.serves(shown) && OF_REQUESTS.test(shown);
    if (!isBusy && !isOfRequests && !WORTH_READING.test(shown)) return;
    if (isBusy && lineNumber - this.begunAt > PATIENCE) this.tracebacks.clear();
    const line = logLine(shown);
    if (isOfRequests) this.requests.take(line, shown, lineNumber);
    // A warning is survived, but how another process died is told in any level.
    const isMild = ["WARNING", "INFO", "DEBUG"].includes(line.level);
    if (isMild && !/died unexpectedly/.test(line.text)) return;
    if (!this.follow(line, shown, lineNumber)) this.hear(line, shown, lineNumber);
  }

  /** Whether it is up, by its own word or since it answers requests. */
  private serves(line = ""): boolean {
    return this.signs.has(READY) || this.signs.has(ANSWERED) || ANSWERED.pattern.test(line);
  }

  private goesOn({ isLogged, process, traceback, told }: Candidate, raw: string): void {
    if (isLogged) {
      if (ENGINE_GOES_ON.test(raw)) delete this.best.ends;
      return;
    }
    const refuses = traceback !== undefined && REFUSES.test(raw);
    if (!(refuses || GOES_ON.test(raw)) || process !== logLine(raw).process) return;
    delete this.best.ends;
    if (refuses) this.requests.raise(told, traceback, process);
  }

  /** Whether the line belongs to a traceback of its process. */
  private follow(line: LogLine, raw: string, lineNumber: number): boolean {
    const key = keyOf(line);
    const earlier = this.tracebacks.get(key);
    const begins = Traceback.begins(line.text);
    if (begins || (earlier === undefined && Traceback.isUnderWay(line.text)))
      this.open(key, line, lineNumber);
    if (begins) return true;
    const known = this.tracebacks.get(key);
    const step = known?.take(line.text, raw, lineNumber);
    if (step === "next") {
      const next = new Traceback(lineNumber, "", known);
      this.tracebacks.set(key, next);
      next.take(line.text, raw, lineNumber);
      this.consider(next, line);
      return true;
    }
    if (step === "over") this.tracebacks.delete(key);
    if (known !== undefined && step === "raised") this.consider(known, line);
    return step === "raised" || step === "part";
  }

  private open(key: string, { process }: LogLine, lineNumber: number): void {
    const intro = this.introductions.get(process);
    const isNear = intro !== undefined && lineNumber - intro.lineNumber <= NEARBY;
    const known = this.tracebacks.get(key);
    this.tracebacks.set(key, new Traceback(lineNumber, isNear ? intro.text : "", known));
    this.begunAt = lineNumber;
    const [oldest = key] = this.tracebacks.keys();
    if (this.tracebacks.size > PROCESSES) this.tracebacks.delete(oldest);
  }

  /** A traceback has come to what was raised. */
  private consider(traceback: Traceback, { process, level }: LogLine): void {
    const { line, introduction, lineNumber } = traceback;
    if (NO_CAUSE.test(line)) return;
    const isLogged = level !== "";
    // What it comes of was answered with it.
    if (OF_A_REQUEST.test(line)) this.forget(traceback.follows);
    const isSurvived = SURVIVES.test(introduction) || OF_A_REQUEST.test(line);
    const ends = isLogged ? ENDS.test(introduction) : !isSurvived;
    const inner = WORKER_FAILED.exec(line)?.[1];
    const points = GONE.test(line) || (POINTS.test(line) && inner === undefined);
    const told = (): Raised => {
      const raised: Raised = { ...traceback.told(), process, by: "program" };
      return inner === undefined ? raised : { ...raised, said: inOneLine(inner), name: "" };
    };
    const weight = points ? "points" : ends ? "ends" : "logged";
    if (weight === "logged" && this.serves()) this.requests.raise(told, traceback, process);
    this.offer(weight, { lineNumber, process, isLogged, told, traceback }, traceback.follows);
  }

  /** What was raised in this line ended nothing. */
  private forget(lineNumber: number | undefined): void {
    for (const weight of ["ends", "points"] as const)
      if (this.best[weight]?.lineNumber === lineNumber) delete this.best[weight];
  }

  /** Last words that need no traceback, and what may introduce one. */
  private hear(line: LogLine, raw: string, lineNumber: number): void {
    const { process, text } = line;
    const before = this.introductions.get(process)?.text ?? "";
    if (this.introductions.size >= PROCESSES) this.introductions.clear();
    this.introductions.set(process, { text, lineNumber });
    if (this.isMore(line, lineNumber)) return;
    const { words, said } = lastWordsIn(text);
    if (words === undefined || said === undefined) {
      if (words === undefined) this.hearRaised(line, before, { raw, lineNumber });
      return;
    }
    const heard = { said };
    const told = (): Raised => ({
      said: inOneLine(heard.said),
      name: "",
      line: redact(raw).trim(),
      lineNumber,
      firstLineNumber: lineNumber,
      process,
      by: words.by ?? "program",
    });
    this.offer("ends", { lineNumber, process, isLogged: line.level !== "", told });
    if (words.goesOn !== undefined)
      this.pending = { goesOn: words.goesOn, process, heard, lineNumber };
  }

  /** What was raised, in a line without a traceback: a logger's, or all that somebody kept. */
  private hearRaised(
    line: LogLine,
    before: string,
    { raw, lineNumber }: { readonly raw: string; readonly lineNumber: number },
  ): void {
    const { process, level, text } = line;
    if (NO_CAUSE.test(text) || OF_A_REQUEST.test(text)) return;
    const found = Traceback.withoutFrames({ text, before }, raw, lineNumber);
    if (found === undefined) return;
    if (found.hasFields) {
      this.tracebacks.set(keyOf(line), found);
      this.begunAt = lineNumber;
    }
    const told = (): Raised => {
      const raised: Raised = { ...found.told(), process, by: "program" };
      return level === "" ? { ...raised, isAlone: true } : raised;
    };
    const points = POINTS.test(text) || (level === "" && GONE.test(text));
    this.offer(points ? "points" : "logged", { lineNumber, process, isLogged: level !== "", told });
  }

  /** Whether a line goes on with the last words of its process, which are awaited for some lines. */
  private isMore({ process, text }: LogLine, lineNumber: number): boolean {
    const { pending } = this;
    if (pending?.process !== process) return false;
    const [, more, field] = pending.goesOn.exec(text) ?? [];
    if (field !== undefined) {
      pending.heard.said = `${pending.heard.said}: ${field}`;
      return true;
    }
    if (more !== undefined) pending.heard.said = `${pending.heard.said}: ${more}`;
    if (more !== undefined || lineNumber - pending.lineNumber >= GOES_ON_WITHIN)
      this.pending = undefined;
    return more !== undefined;
  }

  /** Keeps the first that ends it, and what follows from that; of what was logged, the last. */
  private offer(weight: Weight, candidate: Candidate, follows?: number): void {
    const known = this.best[weight];
    const isNext = known !== undefined && known.lineNumber === follows;
    if (known === undefined || isNext || weight === "logged") this.best[weight] = candidate;
  }
}

/** All lines of one message of a process have the same. */
const keyOf = ({ process, level, place }: LogLine): string => `${process}|${level}|${place}`;

/** The last words in a line, and what they say. */
function lastWordsIn(text: string): { readonly words?: LastWords; readonly said?: string } {
  for (const words of LAST_WORDS) {
    const match = words.pattern.exec(text);
    if (match === null) continue;
    const said = words.said(match.map((group: string | undefined) => group ?? ""));
    return said === undefined ? { words } : { words, said };
  }
  return {};
}
