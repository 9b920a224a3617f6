/** The door of the supply list: what must not run, and what is known of images. */

export { draftCrashes } from "./draftCrashes";
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
export { type Kernel, knownTroubles, readKernel } from "./kernel";
export { pinnedImage, pinnedServer } from "./pinned";
export { IMAGES_FOR, otherPlatformOf, PLANNED_ON } from "./platforms";
