import { satisfies } from "@renovatebot/pep440";
import { text, UNKNOWN } from "../../components/inference-server/argv/unknown";
import { TYPE } from "../../components/planned/type";
import {
  atLeast,
  FLOORS,
  isVersion,
  KNOWN_SERIES,
  REFUSED_VARIABLES,
  series,
  transformersFor,
  whyRefused,
} from "../../components/supply/releases";
import { type DeclaredResource, displayName, launchOf, ofType, shown } from "../lib/container";
import { type ImageRecord, imageRecord, recordsByDigest } from "../lib/imageRecord";
import { imageReference, packageOf, roleOf } from "../lib/imageReference";
import { readContainer } from "../lib/inferenceServer";
import { advice, type Finding, type Rule, violation } from "./rule";

const FLOORS_TEXT = FLOORS.map((floor) => `${floor.package} ${floor.version}`).join(" and ");

/** An inference server's image is one exact image whose versions are known to reach the floors. */
export const inferenceImage: Rule = {
  name: "inference-image",
  description: `An inference server runs an image pinned by digest that is recorded to hold at least ${FLOORS_TEXT}.`,
  level: "mandatory",
  fixed: true,
  advises: true,
  judgeResource(resource) {
    const digest = pinned(resource);
    return typeof digest === "object" ? digest : undefined;
  },
  judgeStack(resources) {
    const records = recordsByDigest(resources);
    return ofType(resources, TYPE.container).flatMap((container) => {
      const digest = pinned(container);
      return typeof digest === "string" ? judgeRecords(container, records.get(digest) ?? []) : [];
    });
  },
};

/** The digest of an inference server's image, or what is wrong with the image; `undefined` for other resources. */
function pinned(resource: DeclaredResource): string | Finding | undefined {
  if (resource.type !== TYPE.container || readContainer(resource).kind === "no") return undefined;
  const name = displayName(resource);
  const image = text(resource.props.image);
  const unknownImage = `${name} is or may be an inference server, and its image is ${shown(image)} before the update. Give the image as plain text, \`repository:tag@sha256:...\`, not as another resource's output.`;
  if (image === UNKNOWN || image === undefined) return violation(resource, unknownImage);
  const reference = imageReference(image);
  const unpinned = `${name} runs \`${image}\`, which is not pinned: an inference server's image is written as \`repository:tag@sha256:<64 hex digits>\`. \`serving pin ${reference === undefined ? "IMAGE:TAG" : image}\` finds the digest and the versions inside.`;
  if (reference?.digest === undefined) return violation(resource, unpinned, { setting: "image" });
  return reference.digest;
}

function judgeRecords(container: DeclaredResource, records: readonly ImageRecord[]) {
  const name = displayName(container);
  const image = shown(text(container.props.image));
  const unrecorded = `${name} runs ${image}, and no ${TYPE.imageRecord} says which versions it holds. Record vllm and transformers for this digest; \`serving pin\` reads them inside the image.`;
  if (records.length === 0) return violation(container, unrecorded);
  return records.flatMap((record) => {
    const faults = FLOORS.flatMap((floor) => floorFault(record, floor.package, floor.version) ?? []);
    const { evidence } = record;
    if (evidence !== "read" && evidence !== "published")
      faults.push(`its evidence is ${shown(evidence)} instead of \`read\` or \`published\``);
    const unusable = `${name} runs ${image}, which can't be used: ${faults.join("; ")}. The floors are ${FLOORS_TEXT}; pin an image that holds them.`;
    if (faults.length > 0) return violation(container, unusable, { setting: "image" });
    if (evidence === "read") return [];
    const versions = FLOORS.map((floor) => `${floor.package} ${shown(record.versions.get(floor.package))}`);
    const message = `${name}: ${versions.join(" and ")} are what was published about ${image}, not what was read inside it. Run \`serving pin\` on a machine with Docker and record the result as evidence \`read\`.`;
    return advice(container, message, { setting: "versions" });
  });
}

function floorFault(record: ImageRecord, package_: string, floor: string): string | undefined {
  const version = record.versions.get(package_);
  if (version === undefined) return `its record has no version of ${package_}`;
  if (version === UNKNOWN) return `the version of ${package_} in its record is not known before the update`;
  if (!isVersion(version)) return `\`${version}\` is not a version of ${package_} that can be compared`;
  return atLeast(version, floor) ? undefined : `it holds ${package_} ${version}, below ${floor}`;
}

/** Tags that name a track, alone or as the start of a longer tag (`main-latest`, `nightly-aarch64`). */
const TRACK = /^(latest|nightly|main|master|dev|edge|stable|rolling|git|cuda|ollama|openai)([-_.]|$)/i;
/** A tag with a release number stays where it is, as far as a tag does. */
const RELEASE = /\d+\.\d+/;

/** A tag that moves makes tomorrow's `up` another program than today's preview. */
export const movingTag: Rule = {
  name: "moving-tag",
  description: "An image that serves models, chats or the bridge is not taken from a moving tag without a digest.",
  level: "mandatory",
  of: TYPE.container,
  judgeResource(resource) {
    const image = text(resource.props.image);
    // An unrelated container, or an image that is not known, is not this rule's business.
    if (typeof image !== "string" || roleOf(image) === undefined) return [];
    const reference = imageReference(image);
    if (reference === undefined || reference.digest !== undefined) return [];
    const { tag } = reference;
    if (tag !== undefined && RELEASE.test(tag) && !TRACK.test(tag)) return [];
    const what = tag === undefined ? "has no tag, which means `latest`," : `has the tag \`${tag}\`, which`;
    const message = `${displayName(resource)}: the image \`${image}\` ${what} moves from release to release. Name a release and its digest, \`${reference.repository}:<release>@sha256:...\`.`;
    return violation(resource, message, { setting: "image" });
  },
};

/** Known-bad releases stay out, whatever else is right about an image. */
export const denyList: Rule = {
  name: "deny-list",
  description:
    "Nothing runs that the supply list refuses: a release known to be bad, or a variable that opens a server.",
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
    const who = `${displayName(resource)} (image \`${String(image)}\`)`;
    return [...(held === undefined ? [] : denied(resource, who, held)), ...openedBy(resource)];
  },
};

function openedBy(resource: DeclaredResource): Finding[] {
  const { variables } = launchOf(resource.props);
  return REFUSED_VARIABLES.flatMap(({ name, reason, source, remedy }) => {
    const value = variables.get(name);
    if (value === undefined || value === "0") return [];
    const message = `${displayName(resource)} sets ${name}: ${reason} (${source}). ${remedy}`;
    return violation(resource, message, { setting: `environment.${name}` });
  });
}

/** The release that an image's own tag names: `litellm:main-v1.82.7-stable` holds litellm 1.82.7. */
function versionInTag(image: string): Map<string, string> | undefined {
  const package_ = packageOf(image);
  const version = /(?:^|[-_])v?(\d+\.\d+\.\d+)(?![\d.]*\d)/.exec(imageReference(image)?.tag ?? "")?.[1];
  return package_ === undefined || version === undefined ? undefined : new Map([[package_, version]]);
}

function denied(resource: DeclaredResource, who: string, held: ReadonlyMap<string, string>): Finding[] {
  return [...held].flatMap(([name, version]) => {
    const why = whyRefused(name, version, held);
    return why === undefined
      ? []
      : violation(resource, `${who} holds ${name} ${version}: ${why}`, { setting: "image" });
  });
}

/** The transformers library of an image suits its vLLM: the ceiling goes with the release, it is never one number. */
export const transformersRange: Rule = {
  name: "transformers-range",
  description: "The transformers release in an image lies in the range that its vLLM release asks for.",
  level: "mandatory",
  advises: true,
  of: TYPE.imageRecord,
  judgeResource(resource) {
    const { versions } = imageRecord(resource);
    const vllm = versions.get("vllm");
    const transformers = versions.get("transformers");
    // Missing, unknown and unreadable versions are refused by the rule for images.
    if (typeof vllm !== "string" || typeof transformers !== "string") return [];
    const ofVllm = series(vllm);
    if (ofVllm === undefined || !isVersion(transformers)) return [];
    const range = transformersFor(ofVllm);
    const unknownSeries = `${resource.name}: no range of transformers is known for vLLM ${vllm} (known: ${KNOWN_SERIES[0]} to ${KNOWN_SERIES.at(-1)}), so transformers ${transformers} was not held against one.`;
    if (range === undefined) return advice(resource, unknownSeries);
    if (satisfies(transformers, range, { prereleases: true })) return [];
    return `${resource.name} holds transformers ${transformers}, but vLLM ${vllm} asks for ${range}. Pin an image whose two versions belong together.`;
  },
};
