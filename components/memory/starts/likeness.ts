import { keptAnswers } from "@local-serving/base/faults/keptAnswers";
import { parse } from "@renovatebot/pep440";
import type { ModelClass, SeenStart } from "../../planned/schema";

/** A server as it is to start, as far as that decides what vLLM takes beside its KV cache. */
export interface AskedServer {
  /** Kind of machine, as `SeenStart.device`. */
  readonly device: string;
  readonly memory: "unified" | "own";
  readonly totalGiB: number;
  readonly vllm: string | undefined;
  /** `--load-format`; `auto` where it isn't given. */
  readonly loader: string;
  readonly maxNumBatchedTokens: number;
  readonly drafts: boolean;
  /** GPUs that share the model. */
  readonly gpus: number;
  /** What a GPU's part of the loaded weights takes, in GiB. */
  readonly weightsGiB: number | undefined;
  readonly class: ModelClass | undefined;
}

/** Totals of machines of one kind differ by less than this part of them. */
const TOTAL_TOLERANCE = 0.05;

/** A batch up to so many times as large, or as small, is like another. */
const BATCH_FACTOR = 2;

/** vLLM counts in much the same way over so many minor versions. */
const MINOR_VERSIONS = 2;

/**
 * Returns a function that says in what a start differs from a server, so that its figure isn't the
 * server's own; nothing for its like. What nobody said of the start counts as a difference.
 */
export const differencesFrom = (asked: AskedServer) => {
  const release = releaseOf(asked.vllm ?? "");
  return (start: SeenStart): string[] => {
    const { device, totalGiB, loader, maxNumBatchedTokens: batch, draftTokens, vllm } = start;
    const drafts = draftTokens === null ? null : draftTokens > 0;
    return [
      named("device", device, device === asked.device),
      named("GiB in all", totalGiB, isNear(totalGiB ?? 0, asked.totalGiB)),
      named("loader", loader, loader?.toLowerCase() === asked.loader.toLowerCase()),
      named("tokens in a batch", batch, isLikeBatch(batch ?? 0, asked.maxNumBatchedTokens)),
      named(
        "drafts",
        drafts === null ? null : drafts ? "with" : "without",
        drafts === asked.drafts,
      ),
      named("vLLM", vllm, vllm !== null && areClose(releaseOf(vllm), release)),
    ].flat();
  };
};

const named = (what: string, value: string | number | null, isSame: boolean): string[] =>
  isSame ? [] : [value === null ? `${what}: not known` : `${what}: ${value}`];

const isNear = (gib: number, asked: number): boolean =>
  Math.abs(gib / asked - 1) <= TOTAL_TOLERANCE;

const isLikeBatch = (batch: number, asked: number): boolean =>
  batch <= BATCH_FACTOR * asked && asked <= BATCH_FACTOR * batch;

/** Whether two releases of vLLM are at most two minor ones apart. */
const areClose = ([major, minor = 0]: Release, [other, otherMinor = 0]: Release): boolean =>
  major === other && Math.abs(minor - otherMinor) <= MINOR_VERSIONS;

type Release = readonly number[];

/** The known starts ran with few versions, and each server is compared with all of them. */
const releases = keptAnswers<Release>(100);

const releaseOf = (version: string): Release =>
  releases(version, () => parse(version)?.release ?? [NaN]);
