import { text } from "../../components/inference-server/argv/unknown";
import { TYPE } from "../../components/planned/type";
import { type DeclaredResource, displayName } from "../lib/container";
import { imageRecord } from "../lib/imageRecord";
import { imageReference, type Role, roleOf } from "../lib/imageReference";
import { isVersion, series } from "../lib/versions";
import { type Finding, type Rule, violation } from "./rule";

interface KnownBad {
  readonly package: string;
  readonly versions: readonly string[];
  /** Bad only together with a release of this series. */
  readonly beside?: { readonly package: string; readonly series: string };
  readonly reason: string;
  readonly remedy: string;
}

/** Releases that are known to be bad, each with the reason and its source. */
const KNOWN_BAD: readonly KnownBad[] = [
  {
    package: "litellm",
    versions: ["1.82.7", "1.82.8"],
    reason: "these releases were compromised (BerriAI/litellm issue 24512, OSV MAL-2026-2144)",
    remedy: "Take 1.83.4 or newer, and change every key that such a release may have seen.",
  },
  {
    package: "transformers",
    versions: ["5.17.0"],
    beside: { package: "vllm", series: "0.27" },
    reason: "it breaks vLLM 0.27 (aws/deep-learning-containers pull request 6773)",
    remedy: "Take an image with another transformers, such as 5.14.1, or a newer vLLM.",
  },
];

const PACKAGE_OF_ROLE: Partial<Record<Role, string>> = { bridge: "litellm", "inference-server": "vllm" };

/** Known-bad releases stay out, whatever else is right about an image. */
export const denyList: Rule = {
  name: "deny-list",
  description: "No image is run that holds a release known to be bad.",
  level: "mandatory",
  judgeResource(resource) {
    if (resource.type === TYPE.imageRecord) {
      const { versions } = imageRecord(resource);
      const known = [...versions].flatMap(([name, version]) =>
        typeof version === "string" ? [[name, version] as const] : [],
      );
      return denied(resource, `The image recorded as ${resource.name}`, new Map(known));
    }
    if (resource.type !== TYPE.container) return [];
    const image = text(resource.props.image);
    const held = typeof image === "string" ? versionInTag(image) : undefined;
    return held === undefined ? [] : denied(resource, `${displayName(resource)} (image \`${String(image)}\`)`, held);
  },
};

/** The release that an image's own tag names: `litellm:main-v1.82.7-stable` holds litellm 1.82.7. */
function versionInTag(image: string): Map<string, string> | undefined {
  const role = roleOf(image);
  const package_ = role === undefined ? undefined : PACKAGE_OF_ROLE[role];
  const version = /(?:^|[-_])v?(\d+\.\d+\.\d+)(?![\d.]*\d)/.exec(imageReference(image)?.tag ?? "")?.[1];
  return package_ === undefined || version === undefined ? undefined : new Map([[package_, version]]);
}

function denied(resource: DeclaredResource, who: string, held: ReadonlyMap<string, string>): Finding[] {
  return KNOWN_BAD.flatMap((bad) => {
    const version = held.get(bad.package);
    if (version === undefined || !isVersion(version)) return [];
    // A local build of a bad release (`1.82.7+custom`) is that release.
    if (!bad.versions.includes(version.replace(/^v/, "").replace(/\+.*$/, ""))) return [];
    if (bad.beside !== undefined && series(held.get(bad.beside.package) ?? "") !== bad.beside.series) return [];
    const message = `${who} holds ${bad.package} ${version}: ${bad.reason}. ${bad.remedy}`;
    return violation(resource, message, { setting: "image" });
  });
}
