import { compare } from "@renovatebot/pep440";

/**
 * Words around a version that say nothing more; LiteLLM's `main-v1.84.0-stable` is its release
 * 1.84.0.
 */
const RELEASE = /^(?:main-)?v?(\d+\.\d+\.\d+)(?:-stable)?(?:\.patch[.-](\d+))?((?:-[\w.-]+)?)$/;

const PRERELEASE = /(^|[-.])(rc|a|b|alpha|beta|dev|pre|preview|nightly|test)[\d.-]*(-|$)/i;

/**
 * Reads a tag; `undefined` for one that moves, and for pre-releases. `version` is as PEP 440 writes
 * it: `0.30.0`, `1.84.0.post1`. `variant` is what else the tag says of the build, such as `-cu130`
 * or `-slim`; "" for the plain one.
 */
export function tagRelease(tag: string) {
  const [, release, patch, variant = ""] = RELEASE.exec(tag) ?? [];
  if (release === undefined || PRERELEASE.test(variant)) return undefined;
  return { version: patch === undefined ? release : `${release}.post${patch}`, variant };
}

/**
 * Tags of a later release than this one's, in the same variant: the newest first, one a release.
 */
export function newerTags(current: string, tags: readonly string[]) {
  const own = tagRelease(current);
  if (own === undefined) return [];
  const found = new Map<string, string>();
  for (const tag of tags) {
    const { version, variant } = tagRelease(tag) ?? {};
    if (version === undefined || variant !== own.variant || compare(version, own.version) <= 0)
      continue;
    // Of two ways to write one release the one that is written like the current tag.
    if (!found.has(version) || formOf(tag) === formOf(current)) found.set(version, tag);
  }
  return [...found]
    .map(([version, tag]) => ({ tag, version }))
    .sort((one, other) => compare(other.version, one.version));
}

const formOf = (tag: string) => tag.replace(/\d+/g, "0");
