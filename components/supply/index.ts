/** The door of the supply list: what must not run, and what is known of images. */

export {
  believedVllm,
  engineNamed,
  hasReleaseTags,
  type ImageVerdict,
  judgeServerImage,
  knownRelease,
  startsVllmItself,
  taggedVersion,
  versionsOf,
  vllmOf,
} from "./imageVersions";
export { knownTroubles, readKernel } from "./kernel";
export { pinnedServer } from "./pinned";
export { IMAGES_FOR, otherPlatformOf, PLANNED_ON } from "./platforms";
