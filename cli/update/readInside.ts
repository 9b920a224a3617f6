import { Failed } from "@local-serving/base/commandLine/exit";
import { say } from "@local-serving/base/commandLine/output";
import { judgeImage } from "../pin/judgeImage";
import { type ImageReading, readImage } from "../pin/readImage";
import { isKnown } from "../pin/unread";
import { entryName, type ImageEntry, type Pin, writePins } from "../pin/writePin";
import type { PlannedStack } from "../stack/readStack";

/**
 * Looks into images, and writes their digests and versions into the stack file. Returns `false`
 * where one can't be read or is refused; then nothing is written.
 */
export async function readInside(
  now: PlannedStack,
  entries: readonly ImageEntry[],
  signal: AbortSignal,
): Promise<boolean> {
  const pins: Pin[] = [];
  for (const same of byImage(now, entries)) {
    const found = await pinsOf(same);
    if (signal.aborted || found === undefined) return false;
    pins.push(...found);
  }
  if (pins.length === 0) return true;
  const { diff, backup } = writePins(now.file, pins);
  for (const { entry, reading } of pins) say(readText(entry, reading));
  if (diff !== "") say(`${now.file} has that now; as it was before: ${backup}.`);
  return true;
}

/** Entries that run one image on one machine. */
interface SameImage {
  readonly image: string;
  readonly dockerHost: string;
  readonly entries: readonly ImageEntry[];
}

function byImage({ plan }: PlannedStack, entries: readonly ImageEntry[]): SameImage[] {
  return plan.machines.flatMap(({ name, dockerHost }) => {
    const here = entries.filter(({ machine }) => machine === name);
    return [...new Set(here.map(({ image }) => image))].map((image) => ({
      image,
      dockerHost,
      entries: here.filter((each) => each.image === image),
    }));
  });
}

/** What is written of an image; `undefined` where it must not run, or nobody knows what it is. */
async function pinsOf({ image, dockerHost, entries }: SameImage): Promise<Pin[] | undefined> {
  const reading = await readImage(image, dockerHost).catch((error: unknown) => {
    if (error instanceof Failed) return error;
    throw error;
  });
  if (reading instanceof Failed) {
    say(`${image}: ${reading.message}`);
    if (entries.every(isKnown)) return [];
    say("Nothing was changed.");
    return undefined;
  }
  for (const entry of entries) {
    const { verdict, reasons } = judgeImage(reading, entry);
    if (verdict !== "refused") continue;
    say(`${entryName(entry)}: ${[...reasons, "Nothing was changed."].join("\n")}`);
    return undefined;
  }
  return entries.map((entry) => ({ entry, reading }));
}

function readText(entry: ImageEntry, { image, versions }: ImageReading): string {
  const known = ["vllm", "transformers"].flatMap((name) =>
    versions[name] === undefined ? [] : [`${name} ${versions[name]}`],
  );
  const inside = known.length === 0 ? "" : `, with ${known.join(" and ")} inside`;
  return `${entryName(entry)} runs ${image}${inside}.`;
}
