import { join } from "node:path";
import { jsonIn } from "@local-serving/base/faults/json";
import { ask, NoAnswer, type WholeAnswer } from "@local-serving/base/http/ask";
import { type ModelCache, repositoryFolder } from "@local-serving/machines/hubCache";
import * as z from "zod";
import type { HubModel } from "../../inference-server";

/** Files that are not loaded here: the same weights again, in formats that vLLM doesn't read. */
export const LEFT_OUT = ["original/*", "metal/*"];

/**
 * What the hub says of a model: its commit, and each file with its name in the cache's `blobs/`.
 */
export interface HubListing {
  /** Its id as the hub spells it; another one where the model was renamed. */
  readonly id: string;
  readonly commit: string;
  /** What the hub takes it for, such as `text-generation`. */
  readonly task: string;
  readonly files: readonly {
    readonly path: string;
    readonly bytes: number;
    readonly blob: string;
  }[];
}

const listing = z.object({
  id: z.string().optional(),
  pipeline_tag: z.string().nullish(),
  sha: z.string(),
  siblings: z.array(
    z.object({
      rfilename: z.string(),
      size: z.number().optional(),
      blobId: z.string().optional(),
      lfs: z.object({ sha256: z.string() }).nullish(),
    }),
  ),
});

/** The token of `hf auth login` in a cache, which the tool takes where it is given none. */
export const tokenIn = ({ path, text }: ModelCache): string | undefined =>
  text(join(path, "token"))?.trim();

/**
 * Asks the hub for the files of a model at its revision. A text in return says why there is no
 * list, in the hub's or the network's words.
 */
export async function askHub(
  { id, revision = "main" }: HubModel,
  token?: string,
): Promise<HubListing | string> {
  const at = encodeURIComponent(revision);
  const path = `/api/models/${id}/revision/${at}?blobs=true`;
  const answer = await answerOf(path, token);
  if (typeof answer === "string") return answer;
  const parsed = listing.safeParse(jsonIn(answer.text));
  if (!parsed.success) return wordsOf(answer);
  const { id: own = id, pipeline_tag: task, sha, siblings } = parsed.data;
  const files = siblings.map(({ rfilename, size = 0, blobId = "", lfs }) => ({
    path: rfilename,
    bytes: size,
    blob: lfs?.sha256 ?? blobId,
  }));
  const isLeftOut = (path: string) =>
    LEFT_OUT.some((pattern) => path.startsWith(pattern.slice(0, -1)));
  return {
    id: own,
    task: task ?? "",
    commit: sha,
    files: files.filter(({ path }) => !isLeftOut(path)),
  };
}

/** A part of the weights; beside them, some repositories have all of them again in one file. */
const SHARD = /^(?:model|pytorch_model)-\d+-of-\d+\.(?:safetensors|bin)$/;

/** Weights as vLLM reads them: safetensors, or where there are none the older files. */
const WEIGHTS = [/^[^/]+\.safetensors$/, /^[^/]+\.(?:bin|pt|pth)$/];

/** Bytes of a model's weights by its files; 0 where none of them are weights that vLLM reads. */
export function weightBytes(files: HubListing["files"]): number {
  const [whole = []] = WEIGHTS.map((form) => files.filter(({ path }) => form.test(path))).filter(
    ({ length }) => length > 0,
  );
  const shards = whole.filter(({ path }) => SHARD.test(path));
  return (shards.length > 0 ? shards : whole).reduce((sum, { bytes }) => sum + bytes, 0);
}

/** The text of a small file of a model, or an `Error` with why it doesn't come. */
export async function hubText(
  { id, commit }: Pick<HubListing, "id" | "commit">,
  path: string,
  token?: string,
): Promise<string | Error> {
  const answer = await answerOf(`/${id}/resolve/${commit}/${path}`, token);
  if (typeof answer === "string") return new Error(answer);
  return answer.status === 200 ? answer.text : new Error(wordsOf(answer));
}

/** How an answer is told to `explained`: status, the hub's own name of the error, its words. */
function wordsOf({ status, text, headers }: WholeAnswer): string {
  const code = [headers["x-error-code"] ?? ""].flat().join();
  // A page of a proxy says nothing that a person reads.
  const words = /^\s*</.test(text) ? "" : text.slice(0, 400).replace(/\s+/g, " ");
  const seconds = secondsToWait(headers);
  const wait = seconds === undefined ? "" : `Retry after ${seconds} seconds`;
  return [status, code, words, wait].filter(Boolean).join(" ");
}

/** For how long the hub wants to be left alone: `Retry-After`, or `t` of its `RateLimit`. */
function secondsToWait(headers: WholeAnswer["headers"]): string | undefined {
  const said = headers["retry-after"] ?? "";
  if (/^\d+$/.test(said)) return said;
  return /\bt=(\d+)/.exec([headers.ratelimit ?? ""].flat().join())?.[1];
}

/** How long the hub has for an answer: what waits for it has another way to go on. */
const HUB_SECONDS = 5;

/** A renamed model, and a file that the hub keeps elsewhere, are a step or two away. */
const REDIRECTS = 5;

/**
 * Asks the hub, and follows where it points. The token goes to the hub alone, and from https nothing
 * goes on in plain text. A text in return says why no answer came.
 */
async function answerOf(path: string, token: string | undefined): Promise<WholeAnswer | string> {
  const hub = (process.env.HF_ENDPOINT || "https://huggingface.co").replace(/\/+$/, "");
  if (!URL.canParse(hub)) return `HF_ENDPOINT is ${hub}, which isn't a URL`;
  const own = { authorization: `Bearer ${token}` };
  try {
    let url = new URL(`${hub}${path}`);
    const { origin } = url;
    for (let step = 0; step <= REDIRECTS; step++) {
      const isHub = url.origin === origin;
      const headers = token && isHub ? own : {};
      const answer = await ask(url.href, { headers, timeoutSeconds: HUB_SECONDS });
      const { location } = answer.headers;
      if (answer.status < 300 || answer.status > 399 || location === undefined) return answer;
      const next = nextUrl(location, url);
      if (typeof next === "string") return next;
      url = next;
    }
    return `it redirects more than ${REDIRECTS} times`;
  } catch (error) {
    if (error instanceof NoAnswer) return error.message;
    throw error;
  }
}

/** Where a redirect leads, or why nobody follows it. */
function nextUrl(location: string, from: URL): URL | string {
  const next = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  return next?.protocol === "https:" || next?.protocol === from.protocol
    ? next
    : `it redirects to ${next?.origin ?? "no address"}, which is not followed`;
}

/** Bytes of the files that a cache still lacks; `undefined` where it has them all. */
export function bytesLeft(
  cache: ModelCache,
  id: string,
  { commit, files }: HubListing,
): number | undefined {
  const folder = repositoryFolder(cache.path, id);
  const missing = files.filter(
    ({ path }) => cache.size(join(folder, "snapshots", commit, path)) === undefined,
  );
  if (missing.length === 0) return undefined;
  const here = (name: string) => cache.size(join(folder, "blobs", name)) ?? 0;
  return missing.reduce(
    (sum, { bytes, blob }) => sum + Math.max(0, bytes - (here(blob) || here(`${blob}.incomplete`))),
    0,
  );
}
