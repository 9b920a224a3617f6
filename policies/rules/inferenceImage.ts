import { text, UNKNOWN } from "../../components/inference-server/argv/unknown";
import { TYPE } from "../../components/planned/type";
import { type DeclaredResource, displayName, ofType, shown } from "../lib/container";
import { type ImageRecord, recordsByDigest } from "../lib/imageRecord";
import { imageReference } from "../lib/imageReference";
import { readContainer } from "../lib/inferenceServer";
import { atLeast, FLOORS, isVersion } from "../lib/versions";
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
