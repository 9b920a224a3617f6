import type { CacheGroups, CacheLayout } from "./cacheLayout";

/** A window that does not start at a block's first token touches one block more. */
const WINDOW_STARTS_INSIDE = 1;

/** Blocks of the pool that one request of so many tokens (prompt and answer) takes at most. */
export function requestBlocks(layout: CacheLayout, tokens: number): number {
  return layout.groups.reduce(
    (sum, each) => sum + each.groups * groupBlocks(each, layout.blockSize, tokens),
    0,
  );
}

function groupBlocks(group: CacheGroups, blockSize: number, tokens: number): number {
  switch (group.kind) {
    case "full":
      return Math.ceil(tokens / blockSize);
    case "sliding":
      return Math.ceil(Math.min(group.mostTokens, tokens) / blockSize) + WINDOW_STARTS_INSIDE;
    case "linear":
      return group.blocks;
  }
}

/**
 * The longest request, in tokens, that takes no more than so many blocks: 0 where not one token fits, `null` where
 * no length is too long (a model whose layers all slide).
 */
export function longestRequest(layout: CacheLayout, blocks: number): number | null {
  const fits = (tokens: number) => requestBlocks(layout, tokens) <= blocks;
  if (!fits(1)) return 0;
  const sliding = layout.groups.find((each) => each.kind === "sliding");
  const growing = layout.groups.some((each) => each.kind === "full");
  if (!growing && (sliding === undefined || fits(sliding.mostTokens))) return null;
  // What a request takes only grows where a block is full, so whole blocks are searched.
  let fitting = 0;
  let tooMany = blocks + 1;
  while (tooMany - fitting > 1) {
    const middle = Math.floor((fitting + tooMany) / 2);
    if (fits(middle * layout.blockSize)) fitting = middle;
    else tooMany = middle;
  }
  return fitting * layout.blockSize;
}
