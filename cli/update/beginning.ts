import type { ReadRecord, UnderWay } from "@local-serving/machines/update/record";
import { brokenOffText, busyText, triedText } from "@local-serving/machines/update/sentences";

/** What `serving up` begins with, by what the record says. `says` comes before anything else. */
export type Beginning =
  | { readonly kind: "refused"; readonly says: string }
  | { readonly kind: "plain" }
  | { readonly kind: "verified" }
  /** The record is cleared, and it begins anew. */
  | { readonly kind: "untouched"; readonly says: string }
  /** An update that was broken off is finished; `same` if the stack file still has its settings. */
  | {
      readonly kind: "forward";
      readonly says: string;
      readonly same: boolean;
      readonly underWay: UnderWay;
    }
  | { readonly kind: "back"; readonly says: string; readonly underWay: UnderWay };

/** What is asked of `serving up`. */
export interface AskedUpdate {
  /** Fingerprint of the stack file's settings. */
  readonly settings: string;
  readonly verified: boolean;
  readonly again: boolean;
}

/** Decides what `serving up` begins with. Pure; `lives` says whether the recorded process runs. */
export function beginning(
  { underWay, failed }: ReadRecord,
  { settings, verified, again }: AskedUpdate,
  lives: boolean | "unknown",
): Beginning {
  if (underWay !== undefined) {
    if (lives === true) return { kind: "refused", says: busyText(underWay) };
    if (lives === "unknown") return { kind: "refused", says: `${busyText(underWay)} ${ELSEWHERE}` };
    return brokenOff(underWay, settings);
  }
  if (failed?.settings === settings && !again) return { kind: "refused", says: triedText(failed) };
  return { kind: verified ? "verified" : "plain" };
}

function brokenOff(underWay: UnderWay, settings: string): Beginning {
  const says = brokenOffText(underWay);
  if (underWay.step === "before") return { kind: "untouched", says: `${says} It begins anew.` };
  if (underWay.step === "back")
    return { kind: "back", says: `${says} This finishes putting it back.`, underWay };
  const same = underWay.settings === settings;
  const then = same
    ? "This goes on with it."
    : "The stack file has other settings now: these are applied instead, and the same probes decide.";
  return { kind: "forward", says: `${says} ${then}`, same, underWay };
}

const ELSEWHERE =
  "From here it can't be seen whether it still runs: run `serving up` on that computer, which finishes it.";
