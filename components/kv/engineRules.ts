import { parse } from "@renovatebot/pep440";
import type { ResolvedKvEngineSettings } from "./engineSettings";
import type { ModelShape } from "./modelShape";

/** What the layout of the cache depends on and differs from one vLLM version to the next. */
export interface EngineRules {
  /** A hybrid model's block is a multiple of this, in tokens. */
  readonly blockMultiple: number;
  /** State blocks that a request holds in each group of linear layers, drafts included. */
  readonly stateBlocks: number;
  /** Blocks of the pool that the fit check keeps free. */
  readonly reservedBlocks: 0 | 1;
  /** Whether the rules were compared with this version's own code. */
  readonly checked: boolean;
}

/** Block of non-hybrid models on a GB10 (fp8, bf16, MLA) and step of hybrid ones, in tokens: vLLM 0.26 and 0.33. */
export const SMALLEST_BLOCK = 16;

/**
 * From 0.33 on, with prefix caching, hybrids whose prefill runs FlashInfer's gated-delta-net kernel have blocks in
 * steps of 64 tokens and keep one state more. The kernel takes key heads of 128 only. Seen in vLLM 0.33.0's own code.
 */
const FLASHINFER_GDN = { since: "0.33", blockMultiple: 64, stateBlocks: 3, keyHeadDim: 128 } as const;

/** States that a request holds without drafts: the current one, and with prefix caching the last aligned one. */
const STATE_BLOCKS = { withoutPrefixCaching: 1, withPrefixCaching: 2 } as const;

/** From this version on the fit check leaves out the pool's null block. */
const NULL_BLOCK_SINCE = "0.29";

/** Oldest and newest versions whose plans were compared with these rules. */
export const CHECKED_VERSIONS = { oldest: "0.26", newest: "0.33" } as const;

export function engineRules(model: ModelShape, engine: ResolvedKvEngineSettings): EngineRules {
  const flashInfer =
    engine.prefixCaching &&
    (engine.gdnPrefillBackend === "auto" || engine.gdnPrefillBackend === "flashinfer") &&
    model.linear?.keyHeadDim === FLASHINFER_GDN.keyHeadDim &&
    since(engine.vllmVersion, FLASHINFER_GDN.since);
  const states = flashInfer
    ? FLASHINFER_GDN.stateBlocks
    : engine.prefixCaching
      ? STATE_BLOCKS.withPrefixCaching
      : STATE_BLOCKS.withoutPrefixCaching;
  return {
    blockMultiple: flashInfer ? FLASHINFER_GDN.blockMultiple : SMALLEST_BLOCK,
    stateBlocks: states + engine.draftTokens,
    reservedBlocks: since(engine.vllmVersion, NULL_BLOCK_SINCE) ? 1 : 0,
    checked:
      since(engine.vllmVersion, CHECKED_VERSIONS.oldest) &&
      sameOrOlderMinor(engine.vllmVersion, CHECKED_VERSIONS.newest),
  };
}

/** Release candidates and nightlies of a version have its rules already, so only the release numbers count. */
function since(version: string, first: string): boolean {
  return compareMinor(version, first) >= 0;
}

function sameOrOlderMinor(version: string, last: string): boolean {
  return compareMinor(version, last) <= 0;
}

function compareMinor(a: string, b: string): number {
  const [majorA = 0, minorA = 0] = parse(a)?.release ?? [];
  const [majorB = 0, minorB = 0] = parse(b)?.release ?? [];
  return majorA - majorB || minorA - minorB;
}
