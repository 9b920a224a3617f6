import { readFileSync, realpathSync, statSync } from "node:fs";
import { basename } from "node:path";
import { explainWriting, Failed } from "../../commandLine/exit";
import { parseStackFile } from "../../components/settings/load";
import { readTextFile } from "../../faults/textFile";
import { replaceFile } from "../../harness/files/replaceFile";
import { applyEdits, type Edit } from "../stackEdit/applyEdits";
import { unifiedDiff } from "../stackEdit/unifiedDiff";
import { entryName, type ImageEntry, imageEntries } from "./imageEntries";
import type { ImageReading } from "./readImage";

export interface Written {
  readonly file: string;
  readonly entry: string;
  /** A unified diff of the stack file; "" where it had everything already. */
  readonly diff: string;
  /** The stack file as it was before; "" where nothing was written. */
  readonly backup: string;
}

/** The changes by which an entry runs this image: its digest, and for an inference server the versions inside. */
function pinEdits(entry: ImageEntry, { image, platformDigest, versions }: ImageReading): Edit[] {
  const path = ["machines", entry.machine, ...entry.path];
  const record = {
    vllm: versions.vllm,
    transformers: versions.transformers,
    evidence: "read",
    source: pinSource(platformDigest),
  };
  return [
    { path: [...path, "image"], value: image },
    ...(entry.recordsVersions
      ? Object.entries(record).map(([name, value]): Edit => ({ path: [...path, "versions", name], value }))
      : []),
  ];
}

export function pinSource(platformDigest: string): string {
  return `serving pin, ${platformDigest.slice(0, "sha256:".length + 12)}`;
}

/**
 * Writes an image into its entry of the stack file, in one step and with a backup beside it; comments and order stay. The
 * file is read anew, since it may have been edited while the image was pulled. Throws `Failed`, and leaves the file as it
 * is, where its entry is gone or the result would not be read.
 */
export function writePin(file: string, entry: ImageEntry, reading: ImageReading): Written {
  const before = readTextFile(file);
  const name = entryName(entry);
  const there = imageEntries(parseStackFile(file, before)).some((each) => entryName(each) === name);
  if (!there)
    throw new Failed(`${file} was edited meanwhile and has no ${name} any more: nothing was written.`);
  const after = applyEdits(before, pinEdits(entry, reading));
  const diff = unifiedDiff(basename(file), before, after);
  if (diff === "") return { file, entry: name, diff, backup: "" };
  parseStackFile(file, after);
  const backup = `${realpathSync(file)}.bak`;
  try {
    replaceFile(backup, before, { newFileMode: statSync(file).mode & 0o777 });
    if (readFileSync(file, "utf8") !== before)
      throw new Failed(`${file} was edited meanwhile: nothing was written.`);
    replaceFile(file, after);
  } catch (error) {
    explainWriting(file, error);
  }
  return { file, entry: name, diff, backup };
}
