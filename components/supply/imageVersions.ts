import { defined } from "@local-serving/base/faults/defined";
import { keptAnswers } from "@local-serving/base/faults/keptAnswers";
import {
  type ImageReference,
  imageReference,
  pathOf,
} from "@local-serving/machines/docker/imageReference";
import { parse } from "@renovatebot/pep440";
import type { ImageFacts } from "../planned";
import images from "./images.json";
import { pinnedServer } from "./pinned";
import { otherPlatforms, PLANNED_ON } from "./platforms";
import { atLeast, isPep440, lowestAllowed, sameRelease } from "./releases";
import { versionInTag, vllmInTag } from "./tagVersion";

type Versions = Readonly<Record<string, string>>;

/** An image that a vLLM server runs, and what is recorded of the versions inside. */
export interface ImageClaim {
  /** `repository[:tag]@sha256:...` */
  readonly image: string;
  readonly record?: ImageRecordClaim | undefined;
}

interface ImageRecordClaim {
  /** The digest that the record names; `undefined` where it names none. */
  readonly of: string | undefined;
  readonly versions: Versions;
  /** `read` inside the image, or anything less. */
  readonly evidence: string;
}

/** A reason not to run an image, as a clause about it. */
export interface ImageDoubt {
  readonly why: string;
  /** A sentence that says what to do; without one, `serving pin` with this image mends it. */
  readonly remedy?: string;
  /** It holds no vLLM for the machines that are planned here, in whatever version. */
  readonly isOther?: true;
  /** Nobody knows what its repository holds. */
  readonly isUnknown?: true;
}

/** What may be believed of an image. */
export interface ImageVerdict {
  /**
   * Versions inside, as far as they are known; empty where there is a reason not to believe the
   * record.
   */
  readonly versions: Versions;
  readonly evidence: "read" | "published" | "none";
  readonly doubts: readonly ImageDoubt[];
  /** Those that stay whatever a look inside finds, with what to do instead. */
  readonly lasting: readonly (ImageDoubt & Pick<Required<ImageDoubt>, "remedy">)[];
  /** The record counts only because the tag or a known digest agrees with it. */
  readonly namesNoDigest: boolean;
  /**
   * A clause that says of the tag that it names a development build. Such a build may run, once its
   * digest and versions are recorded. Left out for any other.
   */
  readonly build?: string;
  /** A tag with a number of its maker's, which isn't the vLLM inside; left out for any other. */
  readonly otherTag?: string;
}

/** What is known of the image with this digest, wherever it is pulled from, or with this name and tag. */
export const knownRelease = (named: string | undefined) =>
  images.releases.find(({ digest, image }) => digest === named || image === named);

type KnownRelease = NonNullable<ReturnType<typeof knownRelease>>;

/** Versions inside a known release, by package. */
export const versionsOf = (release: KnownRelease | undefined): Versions =>
  Object.fromEntries(Object.entries(release?.versions ?? {}));

/**
 * The version of a package that an image's tag names; `undefined` where it names none. A tag speaks
 * of vLLM in vLLM's own repositories and in those that bring it to other hardware, and elsewhere
 * where it says `vllm` in front of the number: any other number counts what its maker counts.
 */
export function taggedVersion(name: string, reference: ImageReference): string | undefined {
  const { repository, tag = "" } = reference;
  if (name !== "vllm") return versionInTag(tag);
  return vllmInTag(tag, listed(repository)?.tags === "version" || isPort(reference));
}

/** Whether a repository is vLLM's own, whose tags name its releases. */
export const hasReleaseTags = (repository: string): boolean =>
  listed(repository)?.tags === "version";

/** Whether an image is vLLM for other hardware, whose tags have vLLM's own numbers. */
const isPort = (reference: ImageReference): boolean =>
  /\/vllm(?:[-_][^/]*)?$/.test(`/${pathOf(reference.repository)}`) &&
  /^v?0\.\d+\.\d/.test(reference.tag ?? "") &&
  otherPlatforms(reference).length > 0;

/** What is known of a repository's tags, also on a mirror that puts a path in front. */
const listed = (repository: string) =>
  images.repositories.find((each) =>
    `/${pathOf(repository)}`.endsWith(`/${pathOf(each.repository)}`),
  );

/**
 * Whether an image's entrypoint starts vLLM, so that a command behind it only adds arguments; `maybe`
 * for one of vLLM's own name in a version of which that isn't known.
 */
export function startsVllmItself(image: string): "yes" | "maybe" | "no" {
  const reference = imageReference(image);
  if (reference === undefined) return "no";
  const { entrypoint } = listed(reference.repository) ?? {};
  const version =
    versionsOf(knownRelease(reference.digest)).vllm ?? taggedVersion("vllm", reference);
  if (entrypoint === undefined)
    return /\/vllm-openai[^/]*$/.test(`/${reference.repository}`) ? "maybe" : "no";
  return version !== undefined && atLeast(version, entrypoint.since) ? "yes" : "maybe";
}

/** The other engine than vLLM that an image or a program's name tells of, and where it belongs. */
export const engineNamed = (name: string): { name: string; belongs: string } | undefined =>
  images.engines.find(({ image }) => new RegExp(image, "i").test(name));

/** The other engine that an image's path or tag names. */
const otherEngine = ({ repository, tag = "" }: ImageReference) =>
  engineNamed(`${pathOf(repository)}:${tag}`);

/** Whether a repository is known to hold a vLLM, also on a mirror that keeps its path. */
const isKnownRepository = ({ repository }: ImageReference) =>
  images.repositories.some((each) => pathOf(each.repository) === pathOf(repository));

/**
 * Says what may be believed of the image that a vLLM server runs: whether it is a vLLM, and which
 * versions are inside. A record counts for the digest that it names. A record without a digest
 * counts if a known release or the tag says the same.
 */
export const judgeServerImage = (claim: ImageClaim): ImageVerdict =>
  verdicts(JSON.stringify([claim.image, claim.record]), () => verdictOn(claim));

/** The servers of a stack run few images, and each is asked about many times. */
const verdicts = keptAnswers<ImageVerdict>(1000);

function verdictOn({ image, record }: ImageClaim): ImageVerdict {
  const reference = imageReference(image);
  if (reference === undefined) return NOTHING_KNOWN;
  const known = knownRelease(reference.digest);
  const around = { reference, known, tagged: taggedVersion("vllm", reference) };
  const own = record?.of === undefined || record.of === reference.digest ? record : undefined;
  const contradictions = [...contentDoubts(around, record, own), ...tagDoubts(own, around)];
  const believed = contradictions.length === 0;
  const versions = believed ? { ...versionsOf(known), ...own?.versions } : {};
  const doubts = [...contradictions, ...lowTag(reference, around.tagged, versions.vllm)];
  return {
    versions,
    evidence: !believed ? "none" : own?.evidence === "read" ? "read" : "published",
    doubts,
    lasting: doubts.flatMap(({ remedy, ...doubt }) =>
      remedy === undefined ? [] : [{ ...doubt, remedy }],
    ),
    namesNoDigest: believed && own !== undefined && own.of === undefined,
    ...defined({ build: buildInTag(reference), otherTag: otherTag(around, versions.vllm) }),
  };
}

/** What an image's reference alone tells. */
interface Around {
  readonly reference: ImageReference;
  readonly known: KnownRelease | undefined;
  /** The vLLM that its tag names. */
  readonly tagged: string | undefined;
}

const NOTHING_KNOWN: ImageVerdict = {
  versions: {},
  evidence: "none",
  doubts: [],
  lasting: [],
  namesNoDigest: false,
};

/** A tag that names a build between releases: `nightly`, `cu130-nightly-aarch64`, `v0.30.1.dev5`. */
const BUILD = /(?:^|[-_.])nightly(?:[-_.]|$)|\.dev\d|(?:^|[-_.])main(?:-[0-9a-f]{7,40})?$/i;

/** Says that a tag of a vLLM names a development build, as a clause. */
function buildInTag({ repository, tag = "" }: ImageReference): string | undefined {
  const isVllm = listed(repository) !== undefined || /vllm/i.test(`${pathOf(repository)}:${tag}`);
  return isVllm && BUILD.test(tag) ? `its tag \`${tag}\` is a development build` : undefined;
}

const NOTHING_RECORDED: ImageDoubt = { why: "the versions inside are not recorded" };

/** Why nobody knows that the image holds a vLLM, and which. */
function contentDoubts(
  around: Around,
  record: ImageRecordClaim | undefined,
  own: ImageRecordClaim | undefined,
): ImageDoubt[] {
  const engine = otherEngine(around.reference);
  if (engine !== undefined)
    return [{ why: `its name says ${engine.name}`, remedy: engine.belongs, isOther: true }];
  const platforms = platformDoubts(around);
  if (platforms.length > 0) return platforms;
  return [
    ...foreign(around, own),
    ...(record === own ? [] : [{ why: `its record is for another image, ${record?.of}` }]),
    ...(own === undefined ? [] : recordDoubts(own, around)),
    ...(record === undefined && around.known === undefined ? [NOTHING_RECORDED] : []),
  ];
}

/** Says that the image is made for other hardware, by its name or by its digest's. */
function platformDoubts({ reference, known }: Around): ImageDoubt[] {
  const [, own] = known?.image.split(", ") ?? [];
  const named = own === undefined ? reference : { ...reference, tag: own };
  const here = `servers here run on ${PLANNED_ON}`;
  const remedy = `Take an image of vLLM for these, such as ${pinnedServer().image.replace(/@.*/, "")}.`;
  return otherPlatforms(named).map(({ says, made }, index) => ({
    why: `its ${own === undefined ? "name" : "digest"} says that it is made ${made} (\`${says}\`)${index === 0 ? `, and ${here}` : ""}`,
    remedy,
    isOther: true,
  }));
}

/** Finds signs that the image holds another program than vLLM. */
function foreign({ reference, known }: Around, own: ImageRecordClaim | undefined): ImageDoubt[] {
  if (known !== undefined && versionsOf(known).vllm === undefined)
    return [
      {
        why: `its digest is that of ${known.image}`,
        remedy: "A server runs vLLM: use a vLLM image.",
        isOther: true,
      },
    ];
  const isRead = own?.of !== undefined && own.evidence === "read";
  if (isRead && own.versions.vllm === undefined)
    return [{ why: "no vLLM was found inside", remedy: "A server runs vLLM: use a vLLM image." }];
  if (known !== undefined || isRead || isKnownRepository(reference)) return [];
  return [{ why: `${reference.repository} is not known to hold vLLM`, isUnknown: true }];
}

/** Says why a record can't be believed that names this digest, or none. */
function recordDoubts(
  { of, versions }: ImageRecordClaim,
  { reference, known, tagged }: Around,
): ImageDoubt[] {
  const { vllm } = versions;
  const published = versionsOf(known).vllm;
  if (published !== undefined && vllm !== undefined && !sameRelease(vllm, published))
    return [{ why: `its record says vllm ${vllm}, but its digest is that of ${known?.image}` }];
  // Of an unknown repository nobody knows more than that.
  if (of !== undefined || known !== undefined || !isKnownRepository(reference)) return [];
  if (vllm !== undefined && tagged !== undefined) return [];
  return [{ why: "its record names no digest, and nothing else shows that it is for this image" }];
}

/** Says why the tag contradicts what is inside. */
function tagDoubts(
  own: ImageRecordClaim | undefined,
  { reference, known, tagged }: Around,
): ImageDoubt[] {
  const published = versionsOf(known).vllm;
  const vllm = published ?? own?.versions.vllm;
  if (tagged === undefined || vllm === undefined || agree(tagged, vllm)) return [];
  const pin = `pin the release that you want: \`serving pin ${reference.repository}:TAG --write\`.`;
  const isSure = own?.of !== undefined || known !== undefined;
  return [
    {
      why: `its tag says vllm ${tagged}, but its ${published === undefined ? "record" : "digest"} says vllm ${vllm}`,
      remedy: isSure ? `Remove the tag, or ${pin}` : `P${pin.slice(1)}`,
    },
  ];
}

/** Whether a tag can be that of a release: `0.30` is that of 0.30.2, too. */
function agree(tagged: string, vllm: string): boolean {
  // The check of the floors refuses what is not a version.
  if (!isPep440(vllm) || sameRelease(tagged, vllm)) return true;
  const release = parse(vllm);
  return (
    /^\d+\.\d+$/.test(tagged) &&
    release?.epoch === 0 &&
    tagged === release.release.slice(0, 2).join(".")
  );
}

/**
 * Refuses a tag below the floor. If the versions inside are known, they are compared with the
 * floors instead.
 */
function lowTag(
  reference: ImageReference,
  tagged: string | undefined,
  vllm: string | undefined,
): ImageVerdict["lasting"] {
  const floor = lowestAllowed("vllm");
  if (vllm !== undefined) return [];
  const remedy = `Pin vllm ${floor} or newer.`;
  const dated = tagged === undefined ? lowDate(reference, floor) : undefined;
  if (dated !== undefined) return [{ why: dated, remedy }];
  if (tagged === undefined || atLeast(tagged, floor)) return [];
  return [{ why: `its tag says vllm ${tagged}, below ${floor}`, remedy }];
}

/** A year and a month in front of a tag: `25.11` of `25.11-py3`. */
const MONTH = /^(\d\d\.\d\d)(?!\d)/;

/** Says that an image numbered by its month is as old as one whose vLLM is below the floor. */
function lowDate({ repository, tag = "" }: ImageReference, floor: string): string | undefined {
  const { upTo, repository: of } = listed(repository) ?? {};
  const [, month] = MONTH.exec(tag) ?? [];
  if (upTo === undefined || month === undefined || month > upTo.date) return undefined;
  if (atLeast(upTo.vllm, floor)) return undefined;
  return `its tag says ${month}, and ${of} up to ${upTo.date} holds vllm ${upTo.vllm} or older, below ${floor}`;
}

/** A tag that counts something else than the vLLM inside, as far as its numbers tell. */
function otherTag(
  { reference: { repository, tag = "" }, tagged }: Around,
  vllm: string | undefined,
): string | undefined {
  if (vllm === undefined || tagged !== undefined || listed(repository) !== undefined)
    return undefined;
  const isSame = agree(versionInTag(tag) ?? "", vllm);
  return !isSame && /\d\.\d/.test(tag) ? tag : undefined;
}

/** A server's image and its `versions`, as in the stack file. */
interface ServerImage {
  readonly image: string;
  readonly versions?: RecordedVersions | undefined;
}

interface RecordedVersions {
  readonly vllm?: string | undefined;
  readonly evidence: string;
  readonly digest?: string | undefined;
}

/** The vLLM inside a server's image, where it is known. */
export function vllmOf({ image, versions: recorded }: ServerImage): string | undefined {
  if (recorded === undefined) return judgeServerImage({ image }).versions.vllm;
  const { digest: of, evidence, vllm } = recorded;
  const versions: Versions = vllm === undefined ? {} : { vllm };
  return judgeServerImage({ image, record: { of, evidence, versions } }).versions.vllm;
}

/**
 * Returns the same for a planned server. A plan of an earlier version has the digest in `digest`.
 */
export function believedVllm({
  image,
  digest,
  recordedOf = digest,
  versions,
  evidence,
}: ImageFacts): string | undefined {
  const record = { of: recordedOf || undefined, versions, evidence };
  return judgeServerImage(evidence === "none" ? { image } : { image, record }).versions.vllm;
}
