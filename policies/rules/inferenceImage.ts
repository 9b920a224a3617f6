import { capital } from "@local-serving/base/faults/quoting";
import {
  hubName,
  imageReference,
  referenceFault,
} from "@local-serving/machines/docker/imageReference";
import { text, UNKNOWN } from "@local-serving/vllm/argv/unknown";
import { TYPE } from "../../components/planned";
import { type ImageVerdict, knownRelease, pinnedServer } from "../../components/supply";
import { atLeast, FLOORS, isPep440, whyRefused } from "../../components/supply/releases";
import { blockOf, nameOf } from "../lib/block";
import { type DeclaredResource, ofType, valueInWords } from "../lib/container";
import { type RecordedImage, recordsIn, verdictsOn } from "../lib/imageRecord";
import { readContainer } from "../lib/inferenceServer";
import { movingTagText } from "./images";
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
    const image = imageOf(resource);
    if (typeof image !== "string") return image;
    return isPinned(image) ? undefined : unpinned({ container: resource, image }, []);
  },
  judgeStack(resources) {
    const recordsOf = recordsIn(resources);
    const servers = ofType(resources, TYPE.container).flatMap((container) => {
      const image = imageOf(container);
      return typeof image === "string" ? [{ container, image }] : [];
    });
    return servers.flatMap((server) => {
      const { container, image } = server;
      const own = recordsOf(container);
      if (!isPinned(image))
        return own.length === 0 ? [] : [{ ...unpinned(server, own), instead: true as const }];
      const look = lookText(container, image, servers);
      // By its tag, as `serving init` says it.
      const read = lookText(container, tagged(image), servers);
      const mends = lookText(container, image, servers, UP_FIRST);
      return verdictsOn(image, own).flatMap((verdict, index) =>
        judgeVerdict(
          container,
          verdict,
          own[index],
          isDenied(own[index])
            ? { look: DENIED, read: DENIED, mends: DENIED }
            : { look, read, mends },
        ),
      );
    });
  },
};

/** An inference server's container, and its image. */
interface Server {
  readonly container: DeclaredResource;
  readonly image: string;
}

/** The image of an inference server, or that it isn't known; `undefined` for other resources. */
function imageOf(resource: DeclaredResource): string | Finding | undefined {
  if (resource.type !== TYPE.container || readContainer(resource).kind === "no") return undefined;
  const image = text(resource.props.image);
  if (image !== UNKNOWN && image !== undefined) return image;
  const message = `The image of ${nameOf(resource)} is ${valueInWords(image)} before the update. Give it as plain text, \`repository:tag@sha256:...\`, not as another resource's output: it is or may be an inference server's.`;
  return violation(resource, message);
}

const isPinned = (image: string): boolean => imageReference(image)?.digest !== undefined;

/**
 * Says everything that is known against an image without a digest, the version first, so that nobody
 * pulls one that can't be used anyway.
 */
function unpinned({ container, image }: Server, records: readonly RecordedImage[]): Finding {
  const reference = imageReference(image);
  const verdicts = verdictsOn(image.replace(/@.*/s, ""), records);
  const lasting = verdicts.flatMap((each) => each.lasting);
  const low = records.flatMap(lowVersions);
  const remedies = [
    ...lasting.map(({ remedy }) => remedy),
    ...(low.length > 0 ? [TAKE_OTHER] : []),
    ...(records.some(isDenied) ? [DENIED] : []),
  ];
  const build = verdicts.find((each) => each.build)?.build;
  const moves = reference && movingTagText(reference);
  const reasons = [
    ...[...lasting.map((each) => each.why), ...low],
    ...(build ? [build] : moves ? [moves] : []),
    referenceFault(image) ?? "it has no digest",
    ...verdicts.flatMap(({ doubts }) => doubts.filter((each) => each.isUnknown)).map(whyOf),
  ];
  const [first = "", ...others] = [...new Set(reasons)];
  const isBad = remedies.length > 0;
  const also = blockOf(container) === undefined ? "" : UP_FIRST;
  const pin = `\`serving pin ${reference === undefined ? "IMAGE:TAG" : image}\` finds the digest and the versions inside${also}.`;
  const message = [
    `${nameOf(container)}'s image ${isBad ? "can't be used" : "isn't pinned"}: ${first}.`,
    ...(isBad || build === undefined ? [] : [TAKE_RELEASE]),
    isBad ? remedyText(remedies, pin) : pin,
    ...others.map((why) => `${asSentence(why)}.`),
    `It is \`${image}\`. ${FORM}`,
  ].join(" ");
  return violation(container, message, { setting: "image" });
}

/** What the command for a whole update does of itself, where somebody says yes to it. */
const UP_FIRST = ", as `serving up` at a terminal does first";

/** A clause as a sentence of its own; a name at its beginning stays as it is. */
const asSentence = (why: string): string => (/^[a-z]+ /.test(why) ? capital(why) : why);

const whyOf = ({ why }: { readonly why: string }): string => why;

const FORM = "An image is written as `repository:tag@sha256:<64 hex digits>`.";
const TAKE_RELEASE = `Take a release, such as ${pinnedServer().image.replace(/@.*/, "")}, or pin this build, which is no release: nobody can build it again.`;
const TAKE_OTHER = `The floors are ${FLOORS_TEXT}; pin an image that holds them.`;
const DENIED = "What is recorded of it is on the deny list: pin another image.";

/** Remedies, each once; what a look inside may mend only where there is no other. */
const remedyText = (remedies: readonly string[], look: string): string =>
  remedies.length === 0 ? look : [...new Set(remedies)].join(" ");

/** Whether a record names a release that must not run. */
function isDenied(record: RecordedImage | undefined): boolean {
  const known = new Map(
    [...(record?.versions ?? [])].filter(
      (entry): entry is [string, string] => typeof entry[1] === "string",
    ),
  );
  return [...known].some(([name, version]) => whyRefused(name, version, known) !== undefined);
}

/** What a record says that lies below the floors. */
const lowVersions = ({ versions }: RecordedImage): string[] =>
  FLOORS.flatMap((floor) => {
    const version = versions.get(floor.package);
    return typeof version === "string" ? (floorFault(version, floor) ?? []) : [];
  });

/** An image without its digest, where it has a tag. */
const tagged = (image: string): string => {
  const { tag, digest } = imageReference(image) ?? {};
  return tag === undefined || digest === undefined ? image : image.replace(`@${digest}`, "");
};

/** The command that looks into a container's image, and what it does. */
function lookText(
  container: DeclaredResource,
  image: string,
  servers: readonly Server[],
  also = "",
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
  return `\`serving pin ${image} --write${isShared ? ` --entry ${name}` : ""}\` looks inside and records what it finds${also}.`;
}

function judgeVerdict(
  container: DeclaredResource,
  verdict: ImageVerdict,
  record: RecordedImage | undefined,
  { look, read, mends }: Readonly<Record<"look" | "read" | "mends", string>>,
): Finding[] {
  const { versions, evidence, namesNoDigest } = verdict;
  const who = nameOf(container);
  const image = `It is ${valueInWords(text(container.props.image))}.`;
  const digest = imageReference(String(container.props.image))?.digest ?? "";
  const { faults, remedies } = faultsOf(verdict, record, digest);
  if (faults.length > 0) {
    const [first = "", ...others] = faults;
    const rest = others.map((why) => ` ${asSentence(why)}.`).join("");
    const message = `${who}'s image can't be used: ${first}. ${remedyText(remedies, mends)}${rest} ${image}`;
    return [violation(container, message, { setting: "image" })];
  }
  if (namesNoDigest) {
    const message = `The record of ${who}'s image names no digest. The record is accepted because the tag or a known digest agrees with it. ${image} ${look}`;
    return [advice(container, message, { setting: "versions.digest", value: digest })];
  }
  const counted = otherTagNote(container, verdict);
  if (evidence === "read") return counted;
  const held = (name: string) => record?.versions.get(name) ?? versions[name];
  const known = FLOORS.map((floor) => `${floor.package} ${valueInWords(held(floor.package))}`).join(
    " and ",
  );
  const message = `The versions inside ${who}'s image were published, not read in it. ${read} Published are ${known}. ${image}`;
  return [...counted, note(container, message, { setting: "versions" })];
}

/** Says that a tag's number isn't read as vLLM's. */
function otherTagNote(
  container: DeclaredResource,
  { otherTag, versions: { vllm } }: ImageVerdict,
): Finding[] {
  if (otherTag === undefined) return [];
  const message = `The tag of ${nameOf(container)}'s image doesn't name vLLM's version. What is recorded of its digest counts: vllm ${vllm}, and not \`${otherTag}\`.`;
  return [note(container, message, { setting: "image" })];
}

/** What is wrong with an image, and what to do where a look inside doesn't mend it. */
function faultsOf(
  { versions, doubts }: ImageVerdict,
  record: RecordedImage | undefined,
  digest: string,
) {
  const held = (name: string) => record?.versions.get(name) ?? versions[name];
  const isKnown = FLOORS.every((floor) => held(floor.package) !== UNKNOWN);
  if (isKnown && doubts.length > 0) {
    // A digest that is known tells more than a record that is doubted.
    const speaks = (record?.of ?? digest) === digest && knownRelease(digest) === undefined;
    const low = record !== undefined && speaks ? lowVersions(record) : [];
    const remedies = doubts.flatMap(({ remedy }) => remedy ?? []);
    // What no look inside mends comes first.
    const [lasting, others] = [true, false].map((is) =>
      doubts.filter(({ remedy }) => (remedy !== undefined) === is).map(whyOf),
    );
    return {
      faults: [...(lasting ?? []), ...(others ?? []), ...low],
      remedies: low.length > 0 ? [...remedies, TAKE_OTHER] : remedies,
    };
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
  return { faults, remedies: [TAKE_OTHER] };
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
