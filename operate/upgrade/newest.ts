import { defined } from "../../faults/defined";
import { imageReference } from "../../machines/docker/imageReference";
import { newerImages, newestAllowed } from "../pin/stackImages";
import { tagRelease } from "../pin/tagRelease";
import type { ImageEntry } from "../pin/writePin";

/** What a registry says of an entry's image. */
export interface Newest {
  /** `dgx.inferenceServers.b` */
  readonly entry: string;
  readonly image: string;
  /** The release that its tag names; `null` where it names none. */
  readonly pinned: string | null;
  /** The newest release that nothing denies and that is newer; `null` where there is none. */
  readonly newest: string | null;
  readonly isNewer: boolean;
  /** Its image, as a stack file names it. */
  readonly newImage: string | null;
  /** Releases that are newer still and must not be taken. */
  readonly denied: readonly { readonly version: string; readonly why: string }[];
  /** Why nothing is known. */
  readonly problem?: string;
}

/** Asks the registry of an entry's image, as `serving pin --newer` does. */
export async function findNewest(entry: ImageEntry): Promise<Newest> {
  const found = await newerImages(entry);
  const newest = newestAllowed(found);
  const { tag = "" } = imageReference(entry.image) ?? {};
  const above =
    newest === undefined ? found.newer : found.newer.slice(0, found.newer.indexOf(newest));
  return {
    entry: found.entry,
    image: entry.image,
    pinned: tagRelease(tag)?.version ?? null,
    newest: newest?.version ?? null,
    isNewer: newest !== undefined,
    newImage: newest?.image ?? null,
    denied: above.map(({ version, refused: why = "" }) => ({ version, why })),
    ...defined({ problem: found.problem }),
  };
}
