import { transformersFor } from "../../components/supply";
import { imageReference } from "../../machines/docker/imageReference";
import { verdictsOn } from "../../policies/lib/imageRecord";
import type { ImageReading } from "../pin/readImage";
import type { ImageEntry } from "../pin/writePin";

/**
 * What is inside an image that nobody has read yet, as far as its tag and its digest tell: what
 * `serving pin` would read, if the tag is right.
 */
export function assumedReading(image: string, version: string, entry: ImageEntry): ImageReading {
  const { tag = "", digest = "" } = imageReference(image) ?? {};
  const [known] = verdictsOn(image, []);
  const lowest = /\d[\w.]*/.exec(transformersFor(version) ?? "")?.[0];
  const transformers =
    known?.versions.transformers ?? lowest ?? entry.versions?.transformers ?? "unknown";
  return {
    image,
    tag,
    digest,
    platformDigest: digest,
    versions: isServer(entry) ? { vllm: version, transformers } : {},
  };
}

/** Whether an entry is a server's, whose image has a vLLM inside. */
export const isServer = ({ path }: Pick<ImageEntry, "path">): boolean =>
  path[0] === "inferenceServers";

/** The releases of transformers that two versions of vLLM ask for; `null` where nobody has looked. */
export const transformersRanges = (before: string, after: string) => ({
  before: transformersFor(before) ?? null,
  after: transformersFor(after) ?? null,
});
