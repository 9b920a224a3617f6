import { textOr } from "@local-serving/base/faults/json";
import type { DataCopies } from "@local-serving/machines/copies/dataCopies";
import type { MachinePlan } from "../../components/plan";
import { askCopies } from "./askCopies";
import { dataOn } from "./dataOf";

/** What the way back did with a service's data. */
export interface PutBack {
  /**
   * `put-back`: the new version had migrated the data, and the older ones are there again.
   * `not-migrated`: both versions have the same revision, so the data stay. `same-image`: the old
   * container is still there. `no-copy`, `no-data`: there is nothing to put back. `unknown`: a
   * revision can't be read, so the data stay.
   */
  readonly did: "put-back" | "not-migrated" | "same-image" | "no-copy" | "no-data" | "unknown";
  /** The copy that was compared. */
  readonly copy: string | null;
  /** The copy that keeps the newer data. */
  readonly kept: string | null;
  /** The span of time that is not in the data now. */
  readonly missing: { readonly from: string; readonly to: string } | null;
  /** All that a person has to know; "" where nothing happened. */
  readonly sentence: string;
}

const DID = ["put-back", "not-migrated", "same-image", "no-copy", "unknown"] as const;
const NOTHING = { copy: null, kept: null, missing: null };

/**
 * Makes a service's data fit the image that a machine's plan goes back to, before the engine applies
 * that plan: stops the container with the other image, and if that one has migrated the data, keeps
 * them as a copy and puts the newest copy of the planned image back. Where the old container was
 * only stopped for its copy, it is started again. A second run changes nothing, and says the same.
 * Throws `Failed` if it can't; the data are then as they were, or the next run finishes.
 */
export async function putBackMigrated(machine: MachinePlan, service: string): Promise<PutBack> {
  const copies = dataOn(machine, service)?.copies;
  if (copies === undefined) return { did: "no-data", ...NOTHING, sentence: "" };
  const [answer = {}] = await askCopies(copies, ["back", copies.image]);
  const did = DID.find((each) => each === answer.did) ?? "unknown";
  const [copy, kept] = [textOr(answer.copy) || null, textOr(answer.kept) || null];
  const { from, to } = { from: textOr(answer.at), to: textOr(answer.until) };
  const missing = did === "put-back" ? { from, to } : null;
  const revisions = [textOr(answer.before), textOr(answer.revision)] as const;
  const sentence = sentenceOf({ did, copy, kept, missing }, copies, revisions);
  return { did, copy, kept, missing, sentence };
}

function sentenceOf(
  { did, copy, kept, missing }: Omit<PutBack, "sentence">,
  { service, folder }: DataCopies,
  [before, now]: readonly [string, string],
): string {
  if (did === "not-migrated")
    return `The data of ${service} stay as they are: the newer version did not migrate them (revision ${before}).`;
  if (did === "no-copy")
    return `The data of ${service} stay as they are: ${folder} has no copy made with the image that is put back.`;
  if (did === "unknown")
    return `The data of ${service} stay as they are: their revision can't be compared with that of the copy ${copy}. If the older version does not accept them, run \`serving restore ${service} ${copy}\`.`;
  if (did !== "put-back" || missing === null) return "";
  const others =
    kept === null ? "" : ` The newer data are kept: \`serving restore ${service} ${kept}\`.`;
  return `The newer version had migrated the data of ${service} (${before} to ${now}), so the copy ${copy} is put back: what was written from ${missing.from} to ${missing.to} is not in it.${others}`;
}
