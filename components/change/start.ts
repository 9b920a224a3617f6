import type { KvFigures } from "../machine/machineOutputs";

type Kv = Pick<KvFigures, "fits"> | null | undefined;

/** Whether a server starts, by the figures of its cache; nothing is said where there are none. */
export function startOf(kv: Kv) {
  if (kv == null) return undefined;
  return kv.fits.most ? (kv.fits.least ? "starts" : "may start") : "cannot start";
}

/** What is said of a server of which it isn't sure that it starts. */
export function doubtText(kv: Kv): "may not start" | "would not start" | undefined {
  const start = startOf(kv);
  if (start === "cannot start") return "would not start";
  return start === "may start" ? "may not start" : undefined;
}
