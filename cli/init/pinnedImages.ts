import { imageReference } from "@local-serving/machines/docker/imageReference";
import { answerOrFailed, Registry } from "../pin/registry";
import { isInRegistry } from "./serverImage";

/** Digests that registries gave, by the image as a command names it. */
export type Digests = ReadonlyMap<string, string>;

/** Seconds that registries have for an answer: a new stack file can do without it. */
const MOST_SECONDS = 5;

/** The digests that tags point to now, of images that name none; what isn't told in time is left out. */
export async function digestsOf(images: readonly string[]): Promise<Digests> {
  const found = new Map<string, string>();
  const asked = Promise.all(
    [...new Set(images)].map(async (image) => {
      const digest = await digestOf(image);
      if (digest !== undefined) found.set(image, digest);
    }),
  );
  await inTime(asked);
  return new Map(found);
}

async function digestOf(image: string): Promise<string | undefined> {
  const { repository, tag = "latest", digest } = imageReference(image) ?? {};
  if (repository === undefined || digest !== undefined || !isInRegistry(image)) return undefined;
  const answer = await answerOrFailed(new Registry(repository).digest(tag));
  return typeof answer === "string" ? answer : undefined;
}

async function inTime(asked: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, MOST_SECONDS * 1000);
  });
  await Promise.race([asked, late]);
  clearTimeout(timer);
}
