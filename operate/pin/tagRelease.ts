import { compare } from "@renovatebot/pep440";

/** The release that a tag names. */
export interface TagRelease {
  /** As PEP 440 writes it: `0.30.0`, `1.84.0.post1`. */
  readonly version: string;
  /** What else the tag says of the build, such as `-cu130` or `-slim`; "" for the plain one. */
  readonly variant: string;
}

/** Words around a version that say nothing more; LiteLLM's `main-v1.84.0-stable` is its release 1.84.0. */
const RELEASE = /^(?:main-)?v?(\d+\.\d+\.\d+)(?:-stable)?(?:\.patch[.-](\d+))?((?:-[\w.-]+)?)$/;

const PRERELEASE = /(^|[-.])(rc|a|b|alpha|beta|dev|pre|preview|nightly|test)[\d.-]*(-|$)/i;

/** Reads a tag; `undefined` for one that moves, and for pre-releases. */
export function tagRelease(tag: string): TagRelease | undefined {
  const [, release, patch, variant = ""] = RELEASE.exec(tag) ?? [];
  if (release === undefined || PRERELEASE.test(variant)) return undefined;
  return { version: patch === undefined ? release : `${release}.post${patch}`, variant };
}

/** Tags of a later release than this one's, in the same variant: the newest first, one a release. */
export function newerTags(
  current: string,
  tags: readonly string[],
): { readonly tag: string; readonly version: string }[] {
  const own = tagRelease(current);
  if (own === undefined) return [];
  const found = new Map<string, string>();
  for (const tag of tags) {
    const release = tagRelease(tag);
    if (release === undefined || release.variant !== own.variant || compare(release.version, own.version) <= 0)
      continue;
    const other = found.get(release.version);
    // Of two ways to write one release the one that is written like the current tag.
    if (other === undefined || formOf(tag) === formOf(current)) found.set(release.version, tag);
  }
  return [...found]
    .map(([version, tag]) => ({ version, tag }))
    .sort((one, other) => compare(other.version, one.version));
}

const formOf = (tag: string) => tag.replace(/\d+/g, "0");
