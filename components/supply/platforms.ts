import { type ImageReference, pathOf } from "@local-serving/machines/docker/imageReference";
import list from "./platforms.json";

/** What an image, or what a container is given, is made for instead of the machines planned here. */
export interface OtherPlatform {
  /** The words that say so, as they were written. */
  readonly says: string;
  /** What it is made for: `for AMD GPUs`. */
  readonly made: string;
}

/** A word of a name: no letter or digit is beside it. */
const word = (patterns: readonly string[], ends = "(?![a-z\\d])"): RegExp =>
  new RegExp(`(?<![a-z\\d])(?:${patterns.length > 0 ? patterns.join("|") : "(?!)"})${ends}`, "i");

const PLATFORMS = list.platforms.map(({ made, words, unless, given }) => ({
  made,
  words: word(words),
  unless: word(unless),
  given: new RegExp(`^(?:${given.length > 0 ? given.join("|") : "(?!)"})`, "i"),
}));

/** Other hardware than what servers are planned on, by the words of an image's path and tag. */
export function otherPlatforms({ repository, tag = "" }: ImageReference): OtherPlatform[] {
  const name = `${pathOf(repository)}:${tag}`;
  return PLATFORMS.flatMap(({ made, words, unless }) => {
    const [says] = words.exec(name) ?? [];
    return says === undefined || unless.test(name) ? [] : [{ says, made }];
  });
}

/** The same by a device, a runtime or a platform that a container is given. */
export function otherPlatformOf(given: string): OtherPlatform | undefined {
  const found = PLATFORMS.find((each) => each.given.test(given));
  return found && { says: given, made: found.made };
}

/** What servers run on. */
export const PLANNED_ON = "an NVIDIA GPU and an Arm processor (aarch64)";

/** The same as images name their platform. */
export const IMAGES_FOR = "linux/arm64";
