import type { KvFigures } from "../machine/stackOutputs";

/** Whether a server starts, by the figures of its cache; nothing is said where there are none. */
export function startOf(kv: Pick<KvFigures, "fits"> | null | undefined) {
  if (kv == null) return undefined;
  return kv.fits.most ? (kv.fits.least ? "starts" : "may start") : "cannot start";
}
