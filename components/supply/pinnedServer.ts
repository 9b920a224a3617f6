import images from "./images.json";

/** The image of a server in a new stack file, and what is known of it before `pin` reads it. KV plans are for its vLLM. */
export function pinnedServer() {
  const { digest, source } = images.pinned;
  const release = images.releases.find((each) => each.digest === digest);
  const { vllm, transformers } = release?.versions ?? {};
  if (release === undefined || vllm === undefined || transformers === undefined)
    throw new Error("The pinned release of images.json lacks a version.");
  const versions = { vllm, transformers, evidence: "published", digest, source } as const;
  return { image: `${release.image}@${digest}`, versions };
}
