import { isRecord, textOr } from "@local-serving/base/faults/json";
import type { DataCopies } from "@local-serving/machines/copies/dataCopies";
import { imageReference } from "@local-serving/machines/docker/imageReference";
import { tagRelease } from "../pin/tagRelease";
import { askCopies } from "./askCopies";

/** One copy of a service's data. */
export interface Copy {
  /** Its name, which is its time. */
  readonly copy: string;
  readonly at: string;
  /** What made it: an update, `serving backup`, or a restore that keeps what was there. */
  readonly why: string;
  readonly image: string;
  /** Release that the image's tag names. */
  readonly version: string | null;
  /** What the database's own migrations say; `null` where it can't be read. */
  readonly revision: string | null;
  readonly bytes: number;
}

/** The container that has the data now; `image` is "" where there is none. */
interface Now {
  readonly image: string;
  readonly running: boolean;
}

/** The release that an image's tag names; `null` for a moving tag, or none. */
export const versionOf = (image: string): string | null =>
  tagRelease(imageReference(image)?.tag ?? "")?.version ?? null;

interface Listed {
  readonly found: readonly Copy[];
  /** Names of what else lies in their folder: no copies of ours, and never removed. */
  readonly others: readonly string[];
  readonly now: Now;
}

/** The copies of a service's data, the newest first, and what has the data now. */
export async function listCopies(copies: DataCopies): Promise<Listed> {
  const answers = await askCopies(copies, ["list"]);
  const found = answers.flatMap(({ copy, about }): Copy[] => {
    if (!isRecord(about)) return [];
    const image = textOr(about.image);
    const revision = textOr(about.revision) || null;
    const said = { at: textOr(about.at), why: textOr(about.why), bytes: Number(about.bytes) };
    return [{ copy: textOr(copy), ...said, image, version: versionOf(image), revision }];
  });
  const last = answers.at(-1);
  return {
    found: found.reverse(),
    others: answers.map(({ other }) => textOr(other)).filter(Boolean),
    now: { image: textOr(last?.image), running: last?.running === true },
  };
}
