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
  readonly commit: string;
  readonly files: readonly {
    readonly path: string;
    readonly bytes: number;
    readonly blob: string;
  }[];
}

const listing = z.object({
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
  const hub = (process.env.HF_ENDPOINT || "https://huggingface.co").replace(/\/+$/, "");
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  let answer: HttpAnswer;
  try {
    const url = `${hub}/api/models/${id}/revision/${revision}?blobs=true`;
    answer = await ask(url, { headers });
  } catch (error) {
    if (error instanceof NoAnswer) return error.message;
    throw error;
  }
  const parsed = listing.safeParse(jsonIn(answer.text));
  if (!parsed.success) return `${answer.status} ${answer.text.slice(0, 400)}`;
  const { sha, siblings } = parsed.data;
  const files = siblings.map(({ rfilename, size = 0, blobId = "", lfs }) => ({
    path: rfilename,
    bytes: size,
    blob: lfs?.sha256 ?? blobId,
  }));
  const isLeftOut = (path: string) =>
    LEFT_OUT.some((pattern) => path.startsWith(pattern.slice(0, -1)));
  return { commit: sha, files: files.filter(({ path }) => !isLeftOut(path)) };
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
