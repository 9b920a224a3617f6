import { parse } from "@renovatebot/pep440";
import { SMALLEST_BLOCK } from "./cacheGroups";
import type { ResolvedKvEngineSettings } from "./engineSettings";
import type { KvDtype } from "./kvDtype";
import type { ModelShape } from "./modelShape";

/** What the layout of the cache depends on and vLLM changes from version to version. */
export interface EngineRules {
  /** A hybrid model's block is a multiple of this, in tokens. */
  readonly blockMultiple: number;
  /** State blocks that a request holds in each group of linear layers, drafts included. */
  readonly stateBlocks: number;
  /** Formats of a cache whose index compresses its keys; absent where there is no such index. */
  readonly indexedFormats?: readonly KvDtype[];
  /** Blocks of the pool that the fit check keeps free. */
  readonly reservedBlocks: number;
  /** Whether all of its layers that keep tokens cache them in the same way. */
  readonly alike: boolean;
  /** Whether the rules were compared with this version's own code. */
  readonly checked: boolean;
  /** The oldest version with which they were compared for such a model. */
  readonly oldestChecked: string;
}

/** Block of models with sparse attention over compressed vectors. */
export const INDEXED_BLOCK = 64;

/**
 * From 0.33 on, with prefix caching, hybrids whose prefill runs FlashInfer's gated-delta-net kernel
 * have blocks in steps of 64 tokens. The kernel takes key heads of 128 only. Seen in vLLM 0.33.0's
 * own code.
 */
const FLASHINFER_GDN = { blockMultiple: 64, keyHeadDim: 128 } as const;

/**
 * From 0.33 on, with prefix caching, such hybrids and state-space layers keep one more state: that
 * of a checkpoint.
 */
const CHECKPOINTS = { since: "0.33", stateBlocks: 3 } as const;

/**
 * States that a request holds without drafts: the current one, and with prefix caching the last
 * aligned one.
 */
const STATE_BLOCKS = { withoutPrefixCaching: 1, withPrefixCaching: 2 } as const;

/**
 * Beside compressed index keys (vLLM 0.30.0, 0.32.0 and 0.33.0, class of the QSA attention; 0.31
 * was not looked at).
 */
const INDEXED_FORMATS = {
  first: ["bfloat16"],
  since: "0.32",
  later: ["bfloat16", "fp8", "fp8_e4m3"],
} as const;

/** From this version on the fit check leaves out the pool's null block. */
const NULL_BLOCK_SINCE = "0.29";

/** Oldest and newest versions whose plans were compared with these rules. */
export const CHECKED_VERSIONS = { oldest: "0.26", newest: "0.33" } as const;

/** Oldest version of those, for models whose layers don't all cache a token in the same bytes. */
const OLDEST_OF_UNEQUAL_LAYERS = "0.30";

export function engineRules(model: ModelShape, engine: ResolvedKvEngineSettings): EngineRules {
  const flashInfer =
    engine.prefixCaching &&
    (engine.gdnPrefillBackend === "auto" || engine.gdnPrefillBackend === "flashinfer") &&
    model.layers.linear > 0 &&
    model.linear?.keyHeadDim === FLASHINFER_GDN.keyHeadDim &&
    since(engine.vllmVersion, CHECKPOINTS.since);
  const checkpoints =
    flashInfer ||
    (engine.prefixCaching &&
      model.linear?.kind === "state-space" &&
      since(engine.vllmVersion, CHECKPOINTS.since));
  const states = checkpoints
    ? CHECKPOINTS.stateBlocks
    : engine.prefixCaching
      ? STATE_BLOCKS.withPrefixCaching
      : STATE_BLOCKS.withoutPrefixCaching;
  const { slidingAttention, index, compressedIndex, compressed } = model;
  const alike = [slidingAttention, index, compressedIndex, compressed].every(
    (each) => each === undefined,
  );
  const { first, since: newer, later } = INDEXED_FORMATS;
  const indexedFormats: readonly KvDtype[] = since(engine.vllmVersion, newer) ? later : first;
  const oldestChecked = alike ? CHECKED_VERSIONS.oldest : OLDEST_OF_UNEQUAL_LAYERS;
  return {
    blockMultiple: flashInfer ? FLASHINFER_GDN.blockMultiple : SMALLEST_BLOCK,
    stateBlocks: states + engine.draftTokens,
    ...(compressedIndex === undefined ? {} : { indexedFormats }),
    reservedBlocks: reservedBlocks(engine.vllmVersion),
    alike,
    checked:
      since(engine.vllmVersion, oldestChecked) &&
      since(CHECKED_VERSIONS.newest, engine.vllmVersion),
    oldestChecked,
  };
}

/** Blocks of the pool that a version's fit check keeps free. */
export const reservedBlocks = (vllmVersion: string): number =>
  since(vllmVersion, NULL_BLOCK_SINCE) ? 1 : 0;

/**
 * Release candidates and nightlies of a version have its rules already, so only the release numbers
 * count.
 */
export function since(version: string, first: string): boolean {
  const [[major, minor], [firstMajor, firstMinor]] = [release(version), release(first)];
  return (major - firstMajor || minor - firstMinor) >= 0;
}

/** Major and minor numbers by version: a plan compares the same few hundreds of times. */
const releases = new Map<string, readonly [major: number, minor: number]>();

function release(version: string): readonly [major: number, minor: number] {
  const known = releases.get(version);
  if (known !== undefined) return known;
  const [major = 0, minor = 0] = parse(version)?.release ?? [];
  releases.set(version, [major, minor]);
  return [major, minor];
}
