import { redact } from "../../programs/redact";
import type { LogLine } from "./logLine";
import type { RaisedText } from "./traceback";

/** Requests of one client that got the same answer for the same reason. */
export interface Refused {
  readonly client: string;
  readonly method: string;
  /** Without its query. */
  readonly path: string;
  readonly status: number;
  readonly count: number;
  /** Requests of the same client for an answer of the model that got one. */
  readonly answered: number;
  readonly line: string;
  /** What was logged of it, by a line or as an exception. */
  readonly why?: Pick<RaisedText, "said" | "name" | "kind" | "at" | "files" | "packages">;
}

/** How a server answered its requests, as its log tells. */
export interface Requests {
  /** Those that were refused or failed, the most frequent first. */
  readonly refused: readonly Refused[];
  /** What was raised while an answer was streamed: its status was sent before. */
  readonly broken: readonly { readonly count: number; readonly why: RaisedText }[];
  /** Requests for an answer of the model that got one. */
  readonly answered: number;
}

const ACCESS =
  /^(?:(\S+?)(?::\d+)? - )?"(GET|POST|HEAD|PUT|DELETE|PATCH|OPTIONS) (\S+) HTTP\/[\d.]+" (\d{3})\b/;
const ANSWERS = /^\/+(?:v1\/)*(?:chat\/completions|completions|messages|responses)$/;

/** Lines between a reason and the answer that it belongs to. */
const NEARBY = 60;
/** Kinds of requests, and of exceptions, that are told apart. */
const KINDS = 300;
const SHOWN = 12;
const KEY_CHARACTERS = 160;

/** How vLLM introduces what is raised while it streams. */
const STREAMS = /\bstream(?:ing)?\b.{0,40}\b(?:generator|response)|\bin .{0,40}\bstream/i;
/** What a line says that names why a request is refused. */
const NAMES_A_REASON =
  /\b(?:reject|refus|invalid|unsupported|not supported|error|exceed|too large|does not exist)/i;

interface Reason {
  readonly key: string;
  readonly told: () => NonNullable<Refused["why"]>;
  readonly lineNumber: number;
}

interface Kind {
  readonly match: RegExpExecArray;
  readonly raw: string;
  readonly lineNumber: number;
  readonly count: number;
  why?: Reason;
}

const keyOf = (text: string): string => text.replace(/\d+/g, "#").slice(0, KEY_CHARACTERS);

/** The requests of one start, line by line. */
export class RequestReader {
  private readonly kinds = new Map<string, Kind>();
  private readonly broken = new Map<string, { count: number; told: () => RaisedText }>();
  private answered = 0;
  private readonly clients = new Map<string, number>();
  private reason: Reason | undefined;
  /** A failed request whose reason may come behind it. */
  private open: Kind | undefined;

  /** A line of the access log, or one that a logger wrote. */
  take({ level, text, process }: LogLine, raw: string, lineNumber: number): void {
    if (text.includes(" HTTP/")) this.takeAccess(text, raw, lineNumber);
    else if (
      /^(?:ERROR|WARNING)$/.test(level) &&
      isOfApi(process) &&
      NAMES_A_REASON.test(text) &&
      !/^Traceback| {2}File /.test(text)
    )
      this.hear({
        key: text,
        told: () => ({ said: redact(text.slice(0, 1000)).trim(), name: "" }),
        lineNumber,
      });
  }

  /** What was raised and survived, in a traceback of the API. */
  raise(
    told: () => RaisedText,
    { line, lineNumber, introduction }: Record<"line" | "introduction", string> & Place,
    process: string,
  ): void {
    if (!isOfApi(process)) return;
    this.hear({ key: line, told, lineNumber });
    if (!STREAMS.test(introduction)) return;
    const key = keyOf(line);
    const known = this.broken.get(key);
    if (known === undefined && this.broken.size >= KINDS) return;
    this.broken.set(key, { count: (known?.count ?? 0) + 1, told });
  }

  private hear(reason: Reason): void {
    const { open } = this;
    this.open = undefined;
    if (open !== undefined && reason.lineNumber - open.lineNumber <= NEARBY) open.why = reason;
    else this.reason = reason;
  }

  private takeAccess(text: string, raw: string, lineNumber: number): void {
    const match = ACCESS.exec(text);
    if (match === null) return;
    const [, client = "", method = "", path = "", code] = match;
    const status = Number(code);
    const plain = path.split("?", 1)[0] ?? "";
    if (status < 400) {
      if (method === "POST" && ANSWERS.test(plain)) this.answer(client);
      return;
    }
    const { reason } = this;
    const why =
      reason !== undefined && lineNumber - reason.lineNumber <= NEARBY ? reason : undefined;
    this.reason = undefined;
    const key = [client, method, plain, status, keyOf(why?.key ?? "")].join(" ");
    const known = this.kinds.get(key);
    if (known === undefined && this.kinds.size >= KINDS) return;
    const kind: Kind = { match, raw, lineNumber, count: (known?.count ?? 0) + 1 };
    const toldBy = why ?? known?.why;
    if (toldBy !== undefined) kind.why = toldBy;
    this.kinds.set(key, kind);
    this.open = why === undefined && status >= 500 ? kind : undefined;
  }

  private answer(client: string): void {
    this.answered++;
    const known = this.clients.get(client);
    if (known !== undefined || this.clients.size < KINDS)
      this.clients.set(client, (known ?? 0) + 1);
  }

  end(): Requests {
    const kinds = [...this.kinds.values()].sort((x, y) => y.count - x.count).slice(0, SHOWN);
    const broken = [...this.broken.values()].sort((x, y) => y.count - x.count).slice(0, SHOWN);
    return {
      refused: kinds.map(({ match, raw, count, why }) => ({
        client: match[1] ?? "",
        method: match[2] ?? "",
        path: redact((match[3] ?? "").split("?", 1)[0] ?? "").slice(0, KEY_CHARACTERS),
        status: Number(match[4]),
        count,
        answered: this.clients.get(match[1] ?? "") ?? 0,
        line: redact(raw.slice(0, 600)).trim(),
        ...(why === undefined ? {} : { why: why.told() }),
      })),
      broken: broken.map(({ count, told }) => ({ count, why: told() })),
      answered: this.answered,
    };
  }
}

interface Place {
  readonly lineNumber: number;
}

const isOfApi = (process: string): boolean => process === "" || process.startsWith("APIServer");
