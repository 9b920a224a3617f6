import images from "./images.json";

type Package = keyof typeof images.pinned;

/** The published release of a package that `serving init` declares. */
function pinnedRelease(of: Package) {
  const release = images.releases.find((each) => each.digest === images.pinned[of].digest);
  if (release === undefined) throw new Error(`images.json has no release of the pinned ${of}.`);
  return release;
}

/** The image of a service in a new stack file. */
export function pinnedImage(of: Package): string {
  const { image, digest } = pinnedRelease(of);
  return `${image}@${digest}`;
}

/**
 * The image of a server in a new stack file, and what is known of it before `pin` reads it. KV plans
 * are for its vLLM.
 */
export function pinnedServer() {
  const { digest, source } = images.pinned.vllm;
  const { vllm, transformers } = pinnedRelease("vllm").versions;
  if (vllm === undefined || transformers === undefined)
    throw new Error("The pinned release of images.json lacks a version.");
  const versions = { vllm, transformers, evidence: "published", digest, source } as const;
  return { image: pinnedImage("vllm"), versions };
}
