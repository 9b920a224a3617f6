import { Failed } from "../../commandLine/exit";
import { defined } from "../../faults/defined";
import { imageReference } from "../../policies/lib/imageReference";
import { judgeImage } from "./judgeImage";
import { Registry } from "./registry";
import { entryName, type ImageEntry } from "./writePin";

/** An entry of the stack file, and what is wrong with its image today. */
export interface CheckedPin {
  readonly entry: string;
  readonly image: string;
  /** What its tag points to now, where the registry was asked. */
  readonly points?: string;
  readonly faults: readonly string[];
}

/** Whether an entry's tag still points to its digest, and whether it may still run. */
export async function checkPin({ image, versions = {}, model, ...entry }: ImageEntry): Promise<CheckedPin> {
  const of = { entry: entryName({ ...entry, image }), image };
  const { repository, tag, digest } = imageReference(image) ?? {};
  if (repository === undefined || digest === undefined)
    return { ...of, faults: ["It has no digest: `serving pin IMAGE:TAG --write` gives it one."] };
  const { verdict, reasons } = judgeImage(
    { image, digest, ...defined({ versions, evidence: versions.evidence }) },
    model,
  );
  const denied = verdict === "refused" ? reasons : [];
  // Nothing can move without a tag.
  if (tag === undefined) return { ...of, faults: denied };
  try {
    const points = await new Registry(repository).digest(tag);
    const moved = `${tag} points to ${points} now: somebody moved the tag. Find out why before you pin it anew.`;
    const gone = `${repository} has no ${tag} any more: the image may vanish, too.`;
    const faults = points === undefined ? [gone] : points === digest ? [] : [moved];
    return { ...of, ...defined({ points }), faults: [...faults, ...denied] };
  } catch (error) {
    if (error instanceof Failed) return { ...of, faults: [`Not checked. ${error.message}`, ...denied] };
    throw error;
  }
}

export const checkText = (checked: readonly CheckedPin[]): string =>
  checked
    .flatMap(({ entry, image, faults }) => [
      `${faults.length === 0 ? "ok   " : "FAULT"} ${entry}: ${image}`,
      ...faults.map((fault) => `      ${fault}`),
    ])
    .join("\n");
