/** Block of non-hybrid models on a GB10 (fp8, bf16, MLA) and step of hybrid ones, in tokens: vLLM 0.26 and 0.33. */
export const SMALLEST_BLOCK = 16;

/** What a group keeps of a request. */
export type CacheKind =
  | { readonly kind: "full" }
  | {
      readonly kind: "sliding";
      /** Tokens of a request that a group keeps at most: the window and the batches under way. */
      readonly mostTokens: number;
    }
  | {
      readonly kind: "linear";
      /** Blocks that a request holds in each group, whatever its length. */
      readonly blocks: number;
    };

/** Layers of one kind, split into groups that share a block table. */
export type CacheGroups = CacheKind & {
  readonly layers: number;
  readonly groups: number;
  /** Tokens that a block of the pool holds for such a group. */
  readonly blockSize: number;
};

/** A window that does not start at a block's first token touches one block more. */
const WINDOW_STARTS_INSIDE = 1;

/** Blocks that a request of so many tokens takes at most in each of these groups. */
export function groupBlocks(group: CacheGroups, tokens: number): number {
  switch (group.kind) {
    case "full":
      return Math.ceil(tokens / group.blockSize);
    case "sliding":
      return Math.ceil(Math.min(group.mostTokens, tokens) / group.blockSize) + WINDOW_STARTS_INSIDE;
    case "linear":
      return group.blocks;
  }
}
