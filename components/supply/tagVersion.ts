/** A release as a tag names it, where a word of the tag begins; `v` where that is in front. */
const RELEASE = /(?:^|[-_]|(?<!\d)\.|vllm)(?<v>v?)(?<release>\d+(?:\.\d+)+)/gi;

/** vLLM's release behind its own name: `vllm0.30.0`, `vllm_v0.30.0`, `vllm-openai-0.30.0`. */
const OF_VLLM = /vllm(?:[-_.]openai)?[-_.]?v?(?<release>\d+(?:\.\d+)+)/i;

/** A year and a month, by which many number their images: `2026.11`, `25.09`. */
const DATE = /^(?:20)?[2-9]\d\.(?:0?[1-9]|1[0-2])(?!\d)/;

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
  return versionAt(tag, found.find(({ groups }) => groups?.v) ?? found[0]);
}

/**
 * The release of vLLM that a tag names: behind the word `vllm`, or in vLLM's `own` repositories as
 * any tag names one. A date is none.
 */
export function vllmInTag(tag: string, own: boolean): string | undefined {
  const version =
    versionAt(tag, OF_VLLM.exec(tag) ?? undefined) ?? (own ? versionInTag(tag) : undefined);
  return version === undefined || DATE.test(version) ? undefined : version;
}

function versionAt(tag: string, match: RegExpExecArray | undefined): string | undefined {
  const release = match?.groups?.release;
  if (match === undefined || release === undefined) return undefined;
  const rest = tag.slice(match.index + match[0].length);
  const patch = PATCH.exec(rest)?.[1];
  if (patch !== undefined) return `${release}.post${patch}`;
  if (NIGHTLY.test(rest)) return `${release}.dev0`;
  const [suffix = ""] = SUFFIX.exec(rest) ?? [];
  return `${release}${suffix
    .replace(/[-_.]*$/, "")
    .replaceAll("_", ".")
    .toLowerCase()}`;
}
