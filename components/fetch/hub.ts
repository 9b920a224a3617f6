import { join } from "node:path";
import { z } from "zod";
import { jsonIn } from "../../faults/json";
import { ask, type HttpAnswer, NoAnswer } from "../../http/ask";
import { type ModelCache, repositoryIn } from "../../machines/hubCache";
import type { HubModel } from "../inference-server/hubModels";

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
  const answer = await answerOf(`/api/models/${id}/revision/${revision}?blobs=true`, token);
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

const wordsOf = ({ status, text }: HttpAnswer): string => `${status} ${text.slice(0, 400)}`;

/** A renamed model, and a small file that the hub keeps elsewhere, are a step or two away. */
const REDIRECTS = 5;

/**
 * Asks the hub, and follows where it points within itself: a token goes nowhere else. A text in
 * return says why no answer came.
 */
async function answerOf(path: string, token?: string): Promise<HttpAnswer | string> {
  const hub = (process.env.HF_ENDPOINT || "https://huggingface.co").replace(/\/+$/, "");
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  let url = `${hub}${path}`;
  try {
    for (let step = 0; step <= REDIRECTS; step++) {
      const answer = await ask(url, { headers });
      const { location } = answer.headers;
      if (answer.status < 300 || answer.status > 399 || location === undefined) return answer;
      const next = new URL(location, url);
      if (next.origin !== new URL(url).origin)
        return `${answer.status} it points to ${next.origin}, which is not asked`;
      url = next.href;
    }
    return `it points elsewhere more than ${REDIRECTS} times`;
  } catch (error) {
    if (error instanceof NoAnswer) return error.message;
    throw error;
  }
}

/** Bytes of the files that a cache still lacks; `undefined` where it has them all. */
export function bytesLeft(
  cache: ModelCache,
  id: string,
  { commit, files }: HubListing,
): number | undefined {
  const folder = repositoryIn(cache.path, id);
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
