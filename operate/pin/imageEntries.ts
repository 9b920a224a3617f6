import { WrongUse } from "../../commandLine/exit";
import type { StackSettings } from "../../components/settings/stackSettings";
import { imageReference } from "../../policies/lib/imageReference";

/** A place of the stack file that names an image. */
export interface ImageEntry {
  readonly machine: string;
  /** Path below the machine: `["inferenceServers", "b"]`, `["bridge"]` or `["chatUi"]`. */
  readonly path: readonly string[];
  readonly image: string;
  /** Whether the versions inside are recorded beside the image. */
  readonly recordsVersions: boolean;
}

export function imageEntries(settings: StackSettings): ImageEntry[] {
  return Object.entries(settings.machines).flatMap(([machine, { inferenceServers, bridge, chatUi }]) => [
    ...Object.entries(inferenceServers).map(([key, { image }]) => ({
      machine,
      path: ["inferenceServers", key],
      image,
      recordsVersions: true,
    })),
    ...(bridge === undefined
      ? []
      : [{ machine, path: ["bridge"], image: bridge.image, recordsVersions: false }]),
    ...(chatUi === undefined
      ? []
      : [{ machine, path: ["chatUi"], image: chatUi.image, recordsVersions: false }]),
  ]);
}

/** `dgx.inferenceServers.b` */
export function entryName({ machine, path }: ImageEntry): string {
  return [machine, ...path].join(".");
}

/**
 * The entry that an image is for: the one that was named, else the only one that runs this repository. Throws `WrongUse`
 * where that is none or several.
 */
export function chooseEntry(
  file: string,
  entries: readonly ImageEntry[],
  repository: string,
  named: string | undefined,
): ImageEntry {
  const fitting = entries.filter((entry) =>
    named === undefined
      ? hubName(imageReference(entry.image)?.repository ?? "") === hubName(repository)
      : [entryName(entry), entry.path.join("."), entry.path.at(-1)].includes(named),
  );
  const [only, ...others] = fitting;
  if (only !== undefined && others.length === 0) return only;
  const list = (some: readonly ImageEntry[]) => some.map(entryName).join(", ") || "none";
  if (named !== undefined)
    throw new WrongUse(
      only === undefined
        ? `--entry ${named}: ${file} has no such entry with an image; there are: ${list(entries)}.`
        : `--entry ${named}: that is ${list(fitting)}; name one of them whole.`,
    );
  throw new WrongUse(
    only === undefined
      ? `No entry of ${file} runs an image of ${repository}; there are: ${list(entries)}. Say with --entry which one is to run it.`
      : `${list(fitting)} of ${file} all run images of ${repository}. Say with --entry which one is meant.`,
  );
}

/** Docker Hub's repositories may be written with its host or without. */
function hubName(repository: string): string {
  return repository.replace(/^(?:index\.)?docker\.io\//, "").replace(/^library\//, "");
}
