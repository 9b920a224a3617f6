import { taggedVersion, transformersFor } from "../../components/supply";
import { imageReference } from "../../machines/docker/imageReference";
import { verdictsOn } from "../../policies/lib/imageRecord";
import type { ImageReading } from "../pin/readImage";
import type { ImageEntry } from "../pin/writePin";

/** Stands for a version that nobody knows. */
const NOT_KNOWN = "unknown";

/** The vLLM that an image's tag names; `undefined` where its tag doesn't speak of vLLM. */
export function taggedVllm(image: string): string | undefined {
  const reference = imageReference(image);
  return reference && taggedVersion("vllm", reference);
}

/**
 * What is inside an image that nobody has read yet, as far as its tag and its digest tell: what
 * `serving pin` would read, if the tag is right. If the tag doesn't speak of vLLM, it is assumed to
 * be the one of today.
 */
export function assumedReading(image: string, entry: ImageEntry): ImageReading {
  const { tag = "", digest = "" } = imageReference(image) ?? {};
  const [known] = verdictsOn(image, []);
  const vllm = taggedVllm(image) ?? entry.versions?.vllm ?? NOT_KNOWN;
  const lowest = /\d[\w.]*/.exec(transformersFor(vllm) ?? "")?.[0];
  const transformers =
    known?.versions.transformers ?? lowest ?? entry.versions?.transformers ?? NOT_KNOWN;
  return {
    image,
    tag,
    digest,
    platformDigest: digest,
    versions: isServer(entry) ? { vllm, transformers } : {},
  };
}

/** Whether an entry is a server's, whose image has a vLLM inside. */
export const isServer = ({ path }: Pick<ImageEntry, "path">): boolean =>
  path[0] === "inferenceServers";

/** The vLLM inside the image of an entry, and inside one that was read or assumed. */
export const vllmsOf = (entry: ImageEntry, { versions }: ImageReading) => ({
  before: taggedVllm(entry.image) ?? entry.versions?.vllm ?? NOT_KNOWN,
  after: versions.vllm ?? NOT_KNOWN,
});

/**
 * The releases of transformers that both versions of vLLM ask for; `null` where nobody has looked.
 */
export function transformersRanges(entry: ImageEntry, reading: ImageReading) {
  const { before, after } = vllmsOf(entry, reading);
  return { before: transformersFor(before) ?? null, after: transformersFor(after) ?? null };
}
