import { Failed, WrongUse } from "@local-serving/base/commandLine/exit";
import { readTextFile } from "@local-serving/base/faults/textFile";
import {
  hubName,
  imageReference,
  shortDigest,
} from "@local-serving/machines/docker/imageReference";
import { SERVICES } from "../../components/services";
import { parseStackFile, type StackSettings } from "../../components/settings";
import type { StackFileOptions } from "../stack/stackFile";
import { forStack } from "../stack/typed";
import type { Edit } from "../stackEdit/applyEdits";
import { editStackFile, type WrittenFile } from "../stackEdit/writeStackFile";
import type { ImageReading } from "./readImage";

/** A place of the stack file that names an image. */
export interface ImageEntry {
  readonly machine: string;
  /** Path below the machine: `["inferenceServers", "b"]`, or of a service `["bridge"]`. */
  readonly path: readonly string[];
  readonly image: string;
  /** A server's model, and what is recorded of the versions inside its image. */
  readonly model?: string;
  readonly versions?: Readonly<Record<string, string | undefined>>;
}

export function imageEntries(settings: StackSettings): ImageEntry[] {
  return Object.entries(settings.machines).flatMap(([machine, blocks]) => [
    ...Object.entries(blocks.inferenceServers).map(([key, { image, model, versions }]) => ({
      machine,
      path: ["inferenceServers", key],
      image,
      model: model.id,
      ...(versions && { versions }),
    })),
    ...SERVICES.flatMap(({ key }) => {
      const block = blocks[key];
      return block !== undefined && "image" in block
        ? [{ machine, path: [key], image: block.image }]
        : [];
    }),
  ]);
}

/** `dgx.inferenceServers.b` */
export const entryName = ({ machine, path }: ImageEntry): string => [machine, ...path].join(".");

/** What an entry may be called: its path, its key, and as other commands call it (`chat-ui`, `dgx.b`). */
function namesOf(entry: ImageEntry): string[] {
  const { machine, path } = entry;
  const key = path.at(-1) ?? "";
  const service = SERVICES.find((each) => each.key === path[0])?.name ?? key;
  const short = [key, service, path.join(".")];
  return [entryName(entry), ...short, ...short.map((each) => `${machine}.${each}`)];
}

/**
 * The entry that an image is for: the one that was named, else the only one that runs this
 * repository. Throws `WrongUse` where that is none or several.
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
      : namesOf(entry).includes(named),
  );
  const [only, ...others] = fitting;
  if (only !== undefined && others.length === 0) return only;
  const list = (some: readonly ImageEntry[]) => some.map(entryName).join(", ") || "none";
  if (named !== undefined)
    throw new WrongUse(
      only === undefined
        ? `--entry ${named}: ${file} has no such entry with an image; there are: ${list(entries)}.`
        : `--entry ${named}: that fits ${list(fitting)}; write one of them in full.`,
    );
  throw new WrongUse(
    only === undefined
      ? `No entry of ${file} runs an image of ${repository}; there are: ${list(entries)}. Say with --entry which one is to run it.`
      : `${list(fitting)} of ${file} all run images of ${repository}. Say with --entry which one is meant.`,
  );
}

/** An entry that was written into a stack file. */
export interface Written extends WrittenFile {
  readonly file: string;
  readonly entry: string;
}

/**
 * The changes by which an entry runs this image: its digest, and for an inference server the
 * versions inside.
 */
export function pinEdits({ machine, path }: ImageEntry, reading: ImageReading): Edit[] {
  const place = ["machines", machine, ...path];
  const recorded = path[0] === "inferenceServers" ? recordEdits(place, recordOf(reading)) : [];
  return [{ path: [...place, "image"], value: reading.image }, ...recorded];
}

/** What a server's entry records of an image that `serving pin` has read, key by key. */
export const recordOf = ({ versions, digest, platformDigest }: ImageReading): RecordOfVersions => ({
  vllm: versions.vllm,
  transformers: versions.transformers,
  evidence: "read",
  digest,
  platformDigest,
  source: `serving pin, ${shortDigest(platformDigest)}`,
});

/** Keys of `versions`; one that is `undefined` is removed. */
type RecordOfVersions = Readonly<
  Partial<
    Record<
      keyof NonNullable<StackSettings["machines"][string]["inferenceServers"][string]["versions"]>,
      string | undefined
    >
  >
>;

/**
 * The changes by which a server's entry records the versions inside its image, as they were read.
 */
export const recordEdits = (entry: readonly string[], record: RecordOfVersions): Edit[] =>
  Object.entries(record).map(([name, value]) => ({ path: [...entry, "versions", name], value }));

/** An image that was read for an entry of the stack file. */
export interface Pin {
  readonly entry: ImageEntry;
  readonly reading: ImageReading;
}

/** Writes an image into its entry of the stack file, as `writePins` does. */
export const writePin = (file: string, entry: ImageEntry, reading: ImageReading): Written => ({
  file,
  entry: entryName(entry),
  ...writePins(file, [{ entry, reading }]),
});

/**
 * Writes images into their entries of the stack file, in one step and with a backup beside it;
 * comments and order stay. The file is read anew, since it may have been edited while the images
 * were pulled. Throws `Failed`, and leaves the file as it is, where an entry is gone or the result
 * would not be read.
 */
export function writePins(file: string, pins: readonly Pin[]): WrittenFile {
  const before = readTextFile(file);
  const there = imageEntries(parseStackFile(file, before)).map(entryName);
  const gone = pins.map(({ entry }) => entryName(entry)).find((name) => !there.includes(name));
  if (gone !== undefined)
    throw new Failed(
      `${file} was edited meanwhile and has no ${gone} any more: nothing was written.`,
    );
  const edits = pins.flatMap(({ entry, reading }) => pinEdits(entry, reading));
  return editStackFile(file, before, edits);
}

/** What was written, for people. */
function writtenLines({ file, entry, diff, backup }: Written): string[] {
  if (diff === "") return [`${file} has all of this already (${entry}).`];
  return [diff.trimEnd(), "", `${file} is written (${entry}); the old file is ${backup}.`];
}

/** The same, with the commands that `init` lists behind `pin`. */
export function pinnedLines(written: Written, options: StackFileOptions): string[] {
  const next = forStack("Next: serving fetch, then serving up", options);
  return [...writtenLines(written), ...(written.diff === "" ? [] : [next])];
}
