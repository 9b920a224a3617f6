import { Failed } from "../../commandLine/exit";
import { defined } from "../../faults/defined";
import { imageReference } from "../../policies/lib/imageReference";
import { releaseRefusal } from "./judgeImage";
import { Registry } from "./registry";
import { newerTags, tagRelease } from "./tagRelease";
import { entryName, type ImageEntry } from "./writePin";

/** Newer releases that are shown of an image. */
const MOST_SHOWN = 6;

/** A newer release of an image. */
interface NewerImage {
  readonly tag: string;
  readonly version: string;
  /** As a stack file names it. */
  readonly image: string;
  /** Why it must not be taken, as far as its version tells. */
  readonly refused?: string;
}

/** An entry of the stack file and the newer releases of its image. */
export interface NewerImages {
  readonly entry: string;
  readonly image: string;
  /** The newest first; how many there are beyond those. */
  readonly newer: readonly NewerImage[];
  readonly more: number;
  /** Why nothing can be said of it. */
  readonly problem?: string;
}

/** Asks the registry of an entry's image for newer releases, with their digests. */
export async function newerImages(entry: ImageEntry): Promise<NewerImages> {
  const of = { entry: entryName(entry), image: entry.image, newer: [], more: 0 };
  const { repository, tag } = imageReference(entry.image) ?? {};
  if (repository === undefined) return { ...of, problem: `\`${entry.image}\` is no image of a registry.` };
  if (tag === undefined || tagRelease(tag) === undefined)
    return {
      ...of,
      problem: `\`${tag ?? "no tag"}\` names no release, so nothing is newer: pin one, \`serving pin ${repository}:TAG --write\`.`,
    };
  try {
    const registry = new Registry(repository);
    const found = newerTags(tag, await registry.tags());
    const newer = await Promise.all(
      found.slice(0, MOST_SHOWN).map(async ({ tag: name, version }) => {
        const digest = await registry.digest(name);
        const refused = releaseRefusal(entry.image, version, entry.model);
        return { tag: name, version, image: `${repository}:${name}@${digest}`, ...defined({ refused }) };
      }),
    );
    return { ...of, newer, more: found.length - newer.length };
  } catch (error) {
    if (error instanceof Failed) return { ...of, problem: error.message };
    throw error;
  }
}

/** What people read of the newer releases, with the command that takes the newest one that may run. */
export function newerText(found: readonly NewerImages[], stackOptions: string): string {
  const lines = found.flatMap(({ entry, image, newer, more, problem }) => [
    `${entry} runs ${image.replace(/@.*/, "")}.`,
    ...(problem === undefined ? [] : [`  ${problem}`]),
    ...(newer.length > 0 || problem !== undefined ? [] : ["  No newer release."]),
    ...newer.map(
      (each) =>
        `  ${each.tag}  ${each.image.replace(/.*@/, "")}${each.refused === undefined ? "" : `\n    refused: ${each.refused}`}`,
    ),
    ...(more > 0 ? [`  and ${more} older ones`] : []),
    ...takeText(entry, newer, stackOptions),
  ]);
  return lines.join("\n");
}

function takeText(entry: string, newer: readonly NewerImage[], stackOptions: string): string[] {
  const [best] = newer.filter(({ refused }) => refused === undefined);
  if (best === undefined) return [];
  return [`  Take it: serving pin ${best.image.replace(/@.*/, "")} --write --entry ${entry}${stackOptions}`];
}
