import { hubName, imageReference } from "@local-serving/machines/docker/imageReference";
import { knownMap, type Read, text } from "@local-serving/vllm/argv/unknown";
import { nearestEngineData } from "@local-serving/vllm/optionHistory";
import { imageRecordName } from "../../components/inference-server";
import { TYPE } from "../../components/planned";
import {
  type ImageVerdict,
  judgeServerImage,
  knownRelease,
  taggedVersion,
} from "../../components/supply";
import { releaseName } from "../../components/supply/releases";
import { type DeclaredResource, grouped, ofType } from "./container";

/** What is recorded of the packages inside an image, apart from any container that runs it. */
export interface RecordedImage {
  /** Digest of the image that it stands beside: `sha256:` and 64 hex digits. */
  readonly digest: Read<string>;
  /** Digest that the record itself names; `undefined` where it names none. */
  readonly of: string | undefined;
  /** Package name to version. */
  readonly versions: ReadonlyMap<string, Read<string>>;
  /** `published`: said by release notes or wheel metadata; `read`: seen inside the image. */
  readonly evidence: Read<string>;
}

export function imageRecord(resource: DeclaredResource): RecordedImage {
  const entries = Object.entries(knownMap(resource.props.versions));
  const digest = text(resource.props.digest);
  const full = typeof digest === "string" && !digest.includes(":") ? `sha256:${digest}` : digest;
  // A record written by hand has its digest in `digest`.
  const named = text(resource.props.recordedOf) ?? full;
  return {
    digest: full,
    of: typeof named === "string" && named !== "" ? named : undefined,
    versions: new Map(entries.map(([name, version]) => [name.toLowerCase(), text(version)])),
    evidence: text(resource.props.evidence),
  };
}

/**
 * Returns a function that finds the records of a container's image: those that name its digest, and
 * its own. If several say the same, it keeps one.
 */
export function recordsIn(resources: readonly DeclaredResource[]) {
  const all = ofType(resources, TYPE.imageRecord)
    .map((resource, at) => ({ name: resource.name, at, ...imageRecord(resource) }))
    // A server of ours whose stack file records nothing has one without a word.
    .filter(({ versions, evidence }) => versions.size > 0 || evidence !== "none");
  const byName = grouped(all, ({ name }) => name);
  // Servers of one image each record it, and most say the same.
  const byDigest = new Map([...grouped(all, ({ of }) => of)].map(([of, its]) => [of, unlike(its)]));
  return ({ name, props }: DeclaredResource): RecordedImage[] => {
    const image = text(props.image);
    const digest = typeof image === "string" ? imageReference(image)?.digest : undefined;
    const own = byName.get(imageRecordName(name)) ?? [];
    const others = digest === undefined ? [] : (byDigest.get(digest) ?? []);
    return unlike([...own, ...others].sort((a, b) => a.at - b.at));
  };
}

/** Those that say something else than the ones before them. */
const unlike = <Each extends RecordedImage>(records: readonly Each[]): Each[] =>
  [...grouped(records, saying).values()].flatMap(([first]) => first ?? []);

const saying = ({ of, versions, evidence }: RecordedImage) =>
  [of, ...versions, evidence].flat().map(String).join("\n");

/**
 * What may be believed of a server's image: one verdict a record of its digest, or one without any.
 */
export function verdictsOn(image: string, records: readonly RecordedImage[]): ImageVerdict[] {
  if (records.length === 0) return [judgeServerImage({ image })];
  return records.map(({ of, versions, evidence }) => {
    const known = [...versions].filter(
      (entry): entry is [string, string] => typeof entry[1] === "string",
    );
    const record = { of, versions: Object.fromEntries(known), evidence: String(evidence) };
    return judgeServerImage({ image, record });
  });
}

/** vLLM's own image. What other people build from it may take more. */
const OFFICIAL = "vllm/vllm-openai";

/**
 * The vLLM inside an image, by its known digest or what is recorded of it, else by its tag
 * (`v0.30.0-aarch64`); `undefined` where none of them tells.
 */
export function vllmInside(
  image: unknown,
  records: readonly RecordedImage[] = [],
): string | undefined {
  if (typeof image !== "string") return undefined;
  const reference = imageReference(image);
  const believed = verdictsOn(image, records).map(({ versions }) => versions.vllm);
  return (
    believed.find((each) => each !== undefined) ?? (reference && taggedVersion("vllm", reference))
  );
}

/** What an image's vLLM takes, as far as its version can be told; else what the newest takes. */
export const engineDataOf = (image: unknown, records: readonly RecordedImage[] = []) =>
  engineDataFor(image, vllmInside(image, records));

const OTHERS_BUILD = "Its image may differ: it is not vLLM's own in this version.";

/** Says which version an image was compared with. */
const comparedText = (release: string | undefined, near: string): string =>
  release === undefined
    ? `Its image may differ: which vLLM it has isn't known, and it was compared with ${near}.`
    : `Its image may differ: its vLLM is ${release}, of which there is no data here, and it was compared with ${near}.`;

/** The same for a version that is known of the image. */
export function engineDataFor(image: unknown, version: string | undefined) {
  const reference = typeof image === "string" ? imageReference(image) : undefined;
  const release = releaseName(version ?? "") ?? undefined;
  const data = nearestEngineData(release);
  const official =
    hubName(reference?.repository ?? "") === OFFICIAL ||
    knownRelease(reference?.digest) !== undefined;
  const other = official ? "" : OTHERS_BUILD;
  const doubt = data.version === release ? other : comparedText(release, data.version);
  return {
    data,
    /** vLLM's own image in exactly this version; else the data is the nearest that there is. */
    exact: doubt === "",
    /** Why a name that the data lacks may be known there, a sentence; empty where nothing says so. */
    doubt,
  };
}
