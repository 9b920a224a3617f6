import images from "./images.json";

/** The vLLM of the release that `pinned` names in images.json: plans are for it by default. */
export function pinnedVllm(): string {
  const release = images.releases.find(({ image }) => image === images.pinned);
  const vllm = release?.versions.vllm;
  if (vllm === undefined) throw new Error(`images.json has no vLLM release ${images.pinned}.`);
  return vllm;
}
