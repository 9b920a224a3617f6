/** A release as a tag names it, where a word of the tag begins. Group 1 is a `v` in front. */
const RELEASE = /(?:^|[-_.]|vllm)(v?)(\d+(?:\.\d+)+)/gi;

/** What PEP 440 allows behind a release, as far as a tag can hold it. */
const SUFFIX =
  /^(?:[-_.]?(?:a|b|c|rc|alpha|beta|pre|preview)[-_.]?\d*)?(?:[-_.]?(?:post|rev|r)[-_.]?\d*)?(?:[-_.]?dev[-_.]?\d*)?(?![a-z0-9])/i;

/** LiteLLM's `-stable.patch.1` follows its release; a nightly comes before it. */
const PATCH = /^-stable\.patch[.-](\d+)/i;
const NIGHTLY = /^[-_.]nightly(?![a-z])/i;

/**
 * The version that a tag names, in a spelling of PEP 440: `0.30.0` of `v0.30.0-aarch64`,
 * `1.84.0-rc1` of `v1.84.0-rc1`. If it names several, the first with a `v` counts, else the first.
 * `undefined` for a tag that names none. A number without a dot is not a version.
 */
export function versionInTag(tag: string): string | undefined {
  const found = [...tag.matchAll(RELEASE)];
  const match = found.find(([, v]) => v) ?? found[0];
  const [whole = "", , release] = match ?? [];
  if (match === undefined || release === undefined) return undefined;
  const rest = tag.slice(match.index + whole.length);
  const patch = PATCH.exec(rest)?.[1];
  if (patch !== undefined) return `${release}.post${patch}`;
  if (NIGHTLY.test(rest)) return `${release}.dev0`;
  const [suffix = ""] = SUFFIX.exec(rest) ?? [];
  return `${release}${suffix
    .replace(/[-_.]*$/, "")
    .replaceAll("_", ".")
    .toLowerCase()}`;
}
