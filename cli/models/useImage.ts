import { Failed, WrongUse } from "@local-serving/base/commandLine/exit";
import { say } from "@local-serving/base/commandLine/output";
import { defined } from "@local-serving/base/faults/defined";
import { imageReference } from "@local-serving/machines/docker/imageReference";
import type { Recipe } from "../../components/catalogue";
import { vllmOf } from "../../components/supply";
import { judgeImage, refusedUnread } from "../pin/judgeImage";
import { readImage, splitReference } from "../pin/readImage";
import { newerImages, newestAllowed } from "../pin/stackImages";
import { tagRelease } from "../pin/tagRelease";
import { entryName, type ImageEntry } from "../pin/writePin";
import type { OneMachine } from "../stack/readStack";
import { neededImage } from "./neededImage";
import { currentServer, declaredServer, type Seat, type SeatImage, UNCHOSEN_TAG } from "./seat";
import { changeModel, type ModelChange } from "./useModel";

/** The image that a server gets with its model. */
interface ImageChange {
  /** As the stack file names it. */
  readonly image: string;
  /** Image and vLLM of today; "" for a new server. */
  readonly replaces: string;
  /** Why, as a sentence with its source. */
  readonly why: string;
  /** Why no tag is chosen yet. */
  readonly problem?: string;
  /** The versions that were read inside; absent before `--write`. */
  readonly versions?: Readonly<Record<string, string>>;
}

interface Asked {
  /** The image that a person named. */
  readonly image?: string;
  readonly write?: true;
  /** Options of the stack file, to be put behind another command. */
  readonly given: string;
}

/**
 * The change by which a seat gets a model, with another image where the model needs one. To be
 * written, that image is pulled and read as `serving pin` does it. Throws as `changeModel` does, and
 * `Failed` for an image that can't be read or may not run.
 */
export async function changeWithImage(
  stack: OneMachine,
  seat: Seat,
  recipe: Recipe,
  { image: named, write, given }: Asked,
): Promise<ModelChange & { readonly image?: ImageChange }> {
  // What doesn't fit is refused before any registry is asked.
  const own = changeModel(stack, seat, recipe);
  const proposed = await proposedImage(recipe, seat, named);
  if (proposed === undefined) return own;
  const { image, problem } = proposed;
  const change = changeModel(stack, { ...seat, image: { image } }, recipe);
  if (!write) return { ...change, image: proposed };
  if (problem !== undefined)
    throw new Failed(`Nothing was written: ${problem} Choose an image: ${againWith(image)}.`);
  const read = await readForSeat(image, seat, recipe, given);
  const versions = defined({ versions: read.reading?.versions });
  return {
    ...changeModel(stack, { ...seat, image: read }, recipe),
    image: { ...proposed, image: read.image, ...versions },
  };
}

/** The image that is named, else the one that the model needs, as far as anyone says its tag. */
async function proposedImage(
  recipe: Recipe,
  seat: Seat,
  named: string | undefined,
): Promise<ImageChange | undefined> {
  const there = declaredServer(seat);
  const replaces = there === undefined ? "" : imageText(there);
  const needed = neededImage(recipe, currentServer(seat));
  if (named !== undefined) {
    splitReference(named);
    const refused = refusedUnread(named, entryOf(recipe, seat));
    if (refused.length > 0) throw new WrongUse(`--image ${named}: ${refused.join(" ")}`);
    const still = neededImage(recipe, currentServer({ ...seat, image: { image: named } }));
    if (still !== undefined) throw new WrongUse(`--image ${named}: ${still.why}`);
    return { image: named, replaces, why: needed?.why ?? "You named it." };
  }
  if (needed === undefined) return undefined;
  const { repository, image, why } = needed;
  if (image !== undefined) return { image, replaces, why };
  say(`Asking the registry of ${repository} ...`);
  return { replaces, why, ...(await newestOf(entryOf(recipe, seat), repository)) };
}

/** A tag below every release: all are newer. */
const BELOW_ALL = "v0.0.0";

/** The newest release of a repository that may run, by its registry. */
async function newestOf(entry: ImageEntry, repository: string) {
  const { repository: own, tag = "" } = imageReference(entry.image) ?? {};
  const isRelease = own === repository && tagRelease(tag) !== undefined;
  const image = isRelease ? entry.image : `${repository}:${BELOW_ALL}`;
  const found = await newerImages({ ...entry, image });
  const newest = newestAllowed(found);
  if (newest !== undefined) return { image: newest.image };
  const why = found.problem ?? `${repository} has no release that may run.`;
  return { image: `${repository}:${UNCHOSEN_TAG}`, problem: why };
}

const againWith = (image: string) => `the same command with \`--image ${image} --write\``;

/** Pulls and reads an image, and refuses it where `serving pin --write` would. */
async function readForSeat(
  image: string,
  seat: Seat,
  recipe: Recipe,
  given: string,
): Promise<SeatImage> {
  const entry = entryOf(recipe, seat);
  const pin = `\`serving pin ${image} --entry ${entryName(entry)} --write${given}\``;
  const elsewhere =
    declaredServer(seat) === undefined
      ? "Run this again where Docker can pull it."
      : `Run ${pin} where Docker can pull it, then run this again.`;
  const reading = await readImage(image).catch((error: unknown) => {
    if (!(error instanceof Failed)) throw error;
    throw new Failed(`${error.message} Nothing was written. ${elsewhere}`);
  });
  const read = { image: reading.image, reading };
  const still = neededImage(recipe, currentServer({ ...seat, image: read }))?.why;
  const { verdict, reasons } = judgeImage(reading, entry);
  if (verdict === "refused" || still !== undefined) {
    const why = still === undefined || verdict === "refused" ? reasons : [...reasons, still];
    throw new Failed(
      `Nothing was written: the image is refused. ${why.join(" ")} Choose another: ${againWith(`${splitReference(image).repository}:${UNCHOSEN_TAG}`)}.`,
    );
  }
  return read;
}

const entryOf = ({ id }: Recipe, seat: Seat): ImageEntry => ({
  machine: seat.machine,
  path: ["inferenceServers", seat.server],
  image: currentServer(seat).image,
  model: id,
});

/** `vllm/vllm-openai:v0.30.0 (vLLM 0.30.0)` */
function imageText(server: ReturnType<typeof currentServer>): string {
  const version = vllmOf(server);
  return `${server.image.replace(/@.*/, "")}${version === undefined ? "" : ` (vLLM ${version})`}`;
}

/** How a change that is only shown is made. */
export const writeLine = (change: ImageChange | undefined): string =>
  change?.problem === undefined
    ? "Write it: the same command with --write"
    : `Write it: ${againWith(change.image)}`;

/** What people read of another image. */
export function imageLines(change: ImageChange | undefined, server: string): string[] {
  if (change === undefined) return [];
  const { image, replaces, why, problem, versions } = change;
  const inside = Object.entries(versions ?? {}).map((each) => each.join(" "));
  const open =
    problem === undefined
      ? "--write pulls it, then reads and writes its digest and the versions inside, as `serving pin` does."
      : `No tag is chosen: ${problem}`;
  return [
    "Another image:",
    `  ${image}`,
    replaces === ""
      ? `  for the new server ${server}. ${why}`
      : `  in place of ${replaces}. ${why} The next \`serving up\` replaces ${server}.`,
    `  ${versions === undefined ? open : `Inside it: ${inside.join(", ")}.`}`,
    "",
  ];
}
