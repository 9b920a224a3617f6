/** The door of the supply list: what must not run, and what is known of images. */

export {
  believedVllm,
  engineNamed,
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
export { otherPlatformOf, PLANNED_ON } from "./platforms";
