import { TYPE } from "../../components/planned";
import type { ImageVerdict } from "../../components/supply";
import { atLeast, FLOORS, isPep440 } from "../../components/supply";
import { hubName, imageReference, referenceFault } from "../../machines/docker/imageReference";
import { text, UNKNOWN } from "../../vllm/argv/unknown";
import { blockOf } from "../lib/block";
import { type DeclaredResource, displayName, ofType, valueInWords } from "../lib/container";
import { type RecordedImage, recordsIn, verdictsOn } from "../lib/imageRecord";
import { readContainer } from "../lib/inferenceServer";
import { advice, type Finding, note, type Rule, violation } from "./rule";

const FLOORS_TEXT = FLOORS.map((floor) => `${floor.package} ${floor.version}`).join(" and ");

/**
 * An inference server's image is one exact image of vLLM whose versions are known to reach the
 * floors.
 */
export const inferenceImage: Rule = {
  name: "inference-image",
  description: `An inference server runs a vLLM image, pinned by digest, that is known to hold at least ${FLOORS_TEXT}.`,
  level: "mandatory",
  fixed: true,
  advises: true,
  judgeResource(resource) {
    const image = pinned(resource);
    return typeof image === "object" ? image : undefined;
  },
  judgeStack(resources) {
    const recordsOf = recordsIn(resources);
    const servers = ofType(resources, TYPE.container).flatMap((container) => {
      const image = pinned(container);
      return typeof image === "string" ? [{ container, image }] : [];
    });
    return servers.flatMap(({ container, image }) => {
      const own = recordsOf(container);
      const looks = {
        look: lookText(container, image, servers),
        // By its tag, as `serving init` says it.
        read: lookText(container, tagged(image), servers),
      };
      return verdictsOn(image, own).flatMap((verdict, index) =>
        judgeVerdict(container, verdict, own[index], looks),
      );
    });
  },
};

/**
 * The image of an inference server, or what is wrong with its form; `undefined` for other
 * resources.
 */
function pinned(resource: DeclaredResource): string | Finding | undefined {
  if (resource.type !== TYPE.container || readContainer(resource).kind === "no") return undefined;
  const name = displayName(resource);
  const image = text(resource.props.image);
  if (image === UNKNOWN || image === undefined) {
    const message = `${name} is or may be an inference server, and its image is ${valueInWords(image)} before the update. Give the image as plain text, \`repository:tag@sha256:...\`, not as another resource's output.`;
    return violation(resource, message);
  }
  const reference = imageReference(image);
  if (reference?.digest !== undefined) return image;
  const why = referenceFault(image) ?? "it has no digest";
  const named = reference === undefined ? "IMAGE:TAG" : image;
  const message = `${name} runs \`${image}\`, which is not pinned: ${why}. An inference server's image is written as \`repository:tag@sha256:<64 hex digits>\`. \`serving pin ${named}\` finds the digest and the versions inside.`;
  return violation(resource, message, { setting: "image" });
}

/** An image without its digest, where it has a tag. */
const tagged = (image: string): string => {
  const { tag, digest } = imageReference(image) ?? {};
  return tag === undefined || digest === undefined ? image : image.replace(`@${digest}`, "");
};

/** The command that looks into a container's image, and what it does. */
function lookText(
  container: DeclaredResource,
  image: string,
  servers: readonly { readonly container: DeclaredResource; readonly image: string }[],
): string {
  const entry = blockOf(container);
  if (entry === undefined)
    return `\`serving pin ${image}\` looks inside: declare what it finds as a ${TYPE.imageRecord}.`;
  const name = entry.slice(1).join(".");
  const repositoryOf = (each: string) => hubName(imageReference(each)?.repository ?? "");
  const isShared = servers.some(
    (other) =>
      repositoryOf(other.image) === repositoryOf(image) &&
      blockOf(other.container)?.slice(1).join(".") !== name,
  );
  return `\`serving pin ${image} --write${isShared ? ` --entry ${name}` : ""}\` looks inside and records what it finds.`;
}

function judgeVerdict(
  container: DeclaredResource,
  { versions, evidence, doubts, namesNoDigest }: ImageVerdict,
  record: RecordedImage | undefined,
  { look, read }: { readonly look: string; readonly read: string },
): Finding[] {
  const image = `${displayName(container)} runs ${valueInWords(text(container.props.image))}`;
  const unusable = (faults: readonly string[], remedies: readonly string[]) => {
    const message = `${image}, which can't be used: ${faults.join("; ")}. ${[...new Set(remedies)].join(" ")}`;
    return [violation(container, message, { setting: "image" })];
  };
  const held = (name: string) => record?.versions.get(name) ?? versions[name];
  const isKnown = FLOORS.every((floor) => held(floor.package) !== UNKNOWN);
  if (isKnown && doubts.length > 0) {
    const remedies = doubts.flatMap(({ remedy }) => remedy ?? []);
    // A look inside fixes what is unknown. It doesn't allow what must not run.
    return unusable(
      doubts.map(({ why }) => why),
      remedies.length > 0 ? remedies : [look],
    );
  }
  const lacks =
    record === undefined ? "there is no record of its version of" : "its record has no version of";
  const faults = FLOORS.flatMap((floor) => {
    const version = held(floor.package);
    return version === undefined ? `${lacks} ${floor.package}` : (floorFault(version, floor) ?? []);
  });
  if (record !== undefined && record.evidence !== "read" && record.evidence !== "published")
    faults.push(
      `its evidence is ${valueInWords(record.evidence)} instead of \`read\` or \`published\``,
    );
  if (faults.length > 0)
    return unusable(faults, [`The floors are ${FLOORS_TEXT}; pin an image that holds them.`]);
  if (namesNoDigest) {
    const message = `${image}, and its record names no digest. The record is accepted because the tag or a known digest agrees with it. ${look}`;
    const value = imageReference(String(container.props.image))?.digest ?? "";
    return [advice(container, message, { setting: "versions.digest", value })];
  }
  if (evidence === "read") return [];
  const known = FLOORS.map((floor) => `${floor.package} ${valueInWords(held(floor.package))}`).join(
    " and ",
  );
  const message = `${displayName(container)}: ${known} were published for ${valueInWords(text(container.props.image))}, not read inside it. ${read}`;
  return [note(container, message, { setting: "versions" })];
}

function floorFault(
  version: string | typeof UNKNOWN,
  floor: (typeof FLOORS)[number],
): string | undefined {
  const { package: name, version: least } = floor;
  if (version === UNKNOWN)
    return `the version of ${name} in its record is not known before the update`;
  if (!isPep440(version)) return `\`${version}\` is not a version of ${name} that can be compared`;
  return atLeast(version, least) ? undefined : `it holds ${name} ${version}, below ${least}`;
}
