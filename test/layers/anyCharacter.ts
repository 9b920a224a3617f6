import fc from "fast-check";

const SURROGATES = { first: 0xd800, count: 0x800 };
const LAST = 0x10ffff;

/**
 * Any character but half of a surrogate pair. fast-check's own unit "binary" first makes a table of
 * all 1.1 million.
 */
export const anyCharacter = fc
  .nat(LAST - SURROGATES.count)
  .map((at) => String.fromCodePoint(at < SURROGATES.first ? at : at + SURROGATES.count));
