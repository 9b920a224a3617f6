/**
 * Returns every set, as a mask of bits, that is allowed and to which nothing can be added. Each
 * part of an allowed set must be allowed. A set comes before another one that lacks the first
 * member in which both differ.
 */
export function largestSets(count: number, isAllowed: (set: number) => boolean): number[] {
  const allowed = new Set<number>();
  for (let set = 1; set < 2 ** count; set += 1) if (isAllowed(set)) allowed.add(set);
  const members = Array.from({ length: count }, (_, index) => 2 ** index);
  return [...allowed]
    .filter((set) => members.every((one) => (set & one) !== 0 || !allowed.has(set | one)))
    .sort((a, b) => (a & (a ^ b) & -(a ^ b) ? -1 : 1));
}
