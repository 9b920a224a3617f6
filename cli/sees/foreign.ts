import { attempt, defined } from "@local-serving/base/faults/defined";
import {
  isRecord,
  type JsonObject,
  jsonIn,
  objectOr,
  textOr,
} from "@local-serving/base/faults/json";
import type { HttpAnswer } from "@local-serving/base/http/ask";
import { quote } from "./answer";
import { errorMessage } from "./api";

/** What came in the place of an answer in vLLM's own form. */
export interface Foreign {
  /**
   * - `page`: a web page; `text`: other text; `json`: JSON that vLLM doesn't write; `empty`: nothing.
   * - `cut`: the beginning of JSON; `packed`: something that nobody asked to be packed.
   * - `mistyped`: a right answer under a wrong `content-type`; `whole`: no stream where one was asked for.
   */
  readonly form: "page" | "text" | "json" | "empty" | "cut" | "packed" | "mistyped" | "whole";
  /** The program that says that it sent it, where that isn't vLLM's own. */
  readonly by?: string;
  /** Its title, its first words, or its type. */
  readonly says?: string;
  /** Where it sends the client. */
  readonly to?: string;
}

/** Statuses that vLLM has no use for: who sends them stands before it. */
const OTHERS_STATUS = /^(?:407|411|413|414|421|429|431|444|49\d|502|504|511|52\d|530)$/;

const PAGE = /^\s*<(?:!doctype|html|head|body|\?xml|h1|title)\b/i;

const TITLE = /<(title|h1)[^>]{0,200}>([^<]{1,200})<\/\1>/i;

/** Programs that name themselves on their pages. */
const NAMES_ITSELF =
  /\b(?:nginx|openresty|caddy|traefik|haproxy|envoy|cloudflare|varnish|squid|apache)(?:\/[\d.]+)?/i;

/** Characters of a page in which its title stands. */
const HEAD = 2000;

/** Paths whose answers are no JSON. */
const ANY_FORM = ["/health", "/metrics"];

/** Statuses of those that don't pass a request on; another's JSON under others may be anything. */
const UNPASSED = [401, 403, 404, 405, 503];

/** What vLLM's own web server says of an exception that nobody caught. */
const UNCAUGHT = "Internal Server Error";

/** How an answer differs from all that vLLM sends there; `undefined` where it doesn't. */
export function foreignIn(path: string, answer: HttpAnswer, streamed = false): Foreign | undefined {
  const form =
    answer.status === 200 ? formOf200(path, answer, streamed) : formOfRefusal(path, answer);
  if (form === undefined) return undefined;
  return {
    form,
    ...defined({
      by: senderOf(answer),
      says: quoted(wordsOf(form, answer)),
      to: placeOf(answer.headers?.location),
    }),
  };
}

/** What shows best that an answer is foreign. */
function wordsOf(form: Form, { text, headers = {} }: HttpAnswer): string | undefined {
  if (form === "packed") return headers["content-encoding"];
  if (form === "mistyped") return headers["content-type"];
  const head = text.slice(0, HEAD);
  return TITLE.exec(head)?.[2] ?? messageIn(text) ?? head;
}

function messageIn(text: string): string | undefined {
  const value = objectOr(jsonIn(text));
  return errorMessage(value) ?? (textOr(value.message) || undefined);
}

type Form = Foreign["form"];

function formOf200(path: string, answer: HttpAnswer, streamed: boolean): Form | undefined {
  if (ANY_FORM.includes(path)) return undefined;
  const { text, headers = {} } = answer;
  if (isPacked(answer)) return "packed";
  if (text.trim() === "") return "empty";
  const type = headers["content-type"];
  if (streamed && /^(?:data|event|id|retry)?:/m.test(text.slice(0, HEAD)))
    return type === undefined || type.includes("event-stream") ? undefined : "mistyped";
  if (isRecord(jsonIn(text))) {
    if (streamed) return "whole";
    return type === undefined || /\bjson\b/.test(type) ? undefined : "mistyped";
  }
  if (PAGE.test(text)) return "page";
  return /^\s*[[{]/.test(text) ? "cut" : "text";
}

function formOfRefusal(path: string, answer: HttpAnswer): Form | undefined {
  const { status, text } = answer;
  if (isPacked(answer)) return "packed";
  if (text.trim() === "") return path === "/health" && status === 503 ? undefined : "empty";
  if (PAGE.test(text)) return "page";
  const value = jsonIn(text);
  if (!isRecord(value)) return status === 500 && text.trim() === UNCAUGHT ? undefined : "text";
  const isTheirs = OTHERS_STATUS.test(String(status)) && !isUvicorn(answer);
  return isTheirs || (UNPASSED.includes(status) && !isRefusal(value)) ? "json" : undefined;
}

const isRefusal = (value: JsonObject): boolean =>
  errorMessage(value) !== undefined || "detail" in value;

const isPacked = ({ headers = {} }: HttpAnswer): boolean =>
  !["", "identity"].includes(headers["content-encoding"] ?? "");

const isUvicorn = ({ headers = {} }: HttpAnswer): boolean =>
  textOr(headers.server).startsWith("uvicorn");

/** The program that says that it sent an answer; nothing where that is vLLM's own web server. */
function senderOf(answer: HttpAnswer): string | undefined {
  const { text, headers = {} } = answer;
  const onPage = PAGE.test(text) ? NAMES_ITSELF.exec(text.slice(0, HEAD))?.[0] : undefined;
  const server = isUvicorn(answer) ? undefined : headers.server;
  return quoted(onPage ?? [server ?? headers.via].flat()[0]);
}

/** Where a redirect leads, without what may be a secret in it. */
function placeOf(location: string | undefined): string | undefined {
  if (location === undefined) return undefined;
  const url = attempt(() => new URL(location, "http://here"));
  if (url === undefined) return undefined;
  return quoted(`${url.host === "here" ? "" : url.origin}${url.pathname}`);
}

/** Longest of a foreign program's words that are shown. */
const LONGEST = 80;

function quoted(words: string | undefined): string | undefined {
  const text = quote(words ?? "");
  if (text === "") return undefined;
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}...`;
}
