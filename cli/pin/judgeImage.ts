import { defined } from "@local-serving/base/faults/defined";
import { imageReference } from "@local-serving/machines/docker/imageReference";
import { valid } from "@renovatebot/pep440";
import { readCatalogue } from "../../components/catalogue";
import { imageRecordName } from "../../components/inference-server";
import { LABEL, TYPE } from "../../components/planned";
import { SERVICES } from "../../components/services";
import { judgeServerImage, taggedVersion } from "../../components/supply";
import { atLeast, lowestAllowed, whyRefused } from "../../components/supply/releases";
import { judge } from "../../policies/judge";
import { packagesOf, roleByName } from "../../policies/lib/role";
import { projectOrProgram } from "../stack/stackFile";
import type { ImageEntry } from "./writePin";

/** Rules that judge an image by itself; the others need to know the machine. */
const IMAGE_RULES = ["inference-image", "moving-tag", "deny-list", "transformers-range"];

/** Whether a pin mends what a rule says of an image, so that it is asked once the image was read. */
export const isPinRule = (name: string): boolean =>
  ["inference-image", "moving-tag"].includes(name);

/** What is known of an image that is judged. */
interface JudgedImage {
  readonly image: string;
  readonly digest: string;
  /** Versions inside, by package; left out where nothing is recorded. */
  readonly versions?: Readonly<Record<string, string | undefined>>;
  readonly evidence?: string;
  /**
   * Digest that the record of the versions names, "" where it names none; the image's own where
   * they were read now.
   */
  readonly recordedOf?: string;
}

/** What runs below each key of a machine. */
const ROLES = new Map<string, (typeof SERVICES)[number]["name"] | "inference-server">([
  ["inferenceServers", "inference-server"],
  ...SERVICES.map(({ key, name }) => [key, name] as const),
]);

const roleOf = (entry: Pick<ImageEntry, "path"> | undefined) => ROLES.get(entry?.path[0] ?? "");

/** The labels of a container by which a policy knows its block of the stack file. */
const labelsOf = ({ machine, path: [block, key = ""] }: Pick<ImageEntry, "machine" | "path">) => [
  { label: LABEL.machine, value: machine },
  ...(block === "inferenceServers" ? [{ label: LABEL.server, value: key }] : []),
];

/**
 * Judges an image by the same rules that judge a stack, as if its entry ran it, and by what its
 * model needs. Without an entry an image with a vLLM inside is a server's.
 */
export function judgeImage(
  { image, digest, versions, evidence = "read", recordedOf = digest }: JudgedImage,
  entry?: Pick<ImageEntry, "machine" | "path" | "model">,
) {
  const labels = entry === undefined ? [] : labelsOf(entry);
  const container = { name: image, image, entrypoints: [], command: [], envs: [], labels };
  const record = { image, digest, versions, evidence, recordedOf, source: "serving pin" };
  const [block, key = "image"] = entry?.path ?? [];
  const name = block === "inferenceServers" ? key : "image";
  const role = roleOf(entry) ?? (versions?.vllm === undefined ? undefined : "inference-server");
  const verdicts = judge([
    { type: TYPE.container, name, ...defined({ role }), props: container },
    ...(versions === undefined
      ? []
      : [{ type: TYPE.imageRecord, name: imageRecordName(name), props: record }]),
  ]).filter((each) => IMAGE_RULES.includes(each.name) && each.verdict !== "pass");
  const tooOld = belowModel(versions?.vllm, entry?.model);
  const isRefused = tooOld !== undefined || verdicts.some((each) => each.verdict === "refused");
  const verdict = isRefused ? "refused" : verdicts.length > 0 ? "warned" : "pass";
  return {
    verdict,
    reasons: [...verdicts.map((each) => each.message), ...(tooOld ?? [])],
  } as const;
}

/** The package whose releases the tags of an entry's image name, and the lowest that may run. */
export function packageOf(entry: ImageEntry) {
  const [name] = packagesOf(entry.image, roleOf(entry));
  return name === undefined ? undefined : { name, lowest: lowestAllowed(name) };
}

/**
 * Why another tag of an entry's image must not be taken, as far as the tag alone tells; `undefined`
 * where nothing does.
 */
export function releaseRefusal(entry: ImageEntry, tag: string): string | undefined {
  const { name, lowest } = packageOf(entry) ?? {};
  const reference = imageReference(entry.image);
  if (name === undefined || lowest === undefined || reference === undefined) return undefined;
  const version = taggedVersion(name, { ...reference, tag });
  if (version === undefined) return undefined;
  const tooLow = atLeast(version, lowest)
    ? undefined
    : `it is below ${lowest}, the lowest that may run`;
  return whyRefused(name, version) ?? tooLow ?? belowModel(version, entry.model)?.[0];
}

/**
 * Why an image must not run, as far as its name and its tag tell, a sentence each: nobody has to pull
 * it to be told so. Of an image with a digest they tell nothing, since that counts.
 */
export function refusedUnread(
  image: string,
  entry?: Pick<ImageEntry, "path" | "model">,
): readonly string[] {
  const reference = imageReference(image);
  if (reference === undefined || reference.digest !== undefined) return [];
  const role = roleOf(entry) ?? roleByName(image);
  const isService = role !== undefined && role !== "inference-server";
  const lasting = isService ? [] : judgeServerImage({ image }).lasting;
  const denied = packagesOf(image, role).flatMap((name) => {
    const version = taggedVersion(name, reference);
    const why = version === undefined ? undefined : whyRefused(name, version);
    return why === undefined ? [] : [`It holds ${name} ${version}: ${why}`];
  });
  const tooOld = belowModel(taggedVersion("vllm", reference), entry?.model) ?? [];
  const reasons = lasting.map(({ why, remedy }) => `It can't be used: ${why}. ${remedy}`);
  return [...reasons, ...denied, ...(isService ? [] : tooOld)];
}

/** Why a server's vLLM is too old for its model, by the catalogue; `undefined` where it isn't. */
function belowModel(version: string | undefined, model: string | undefined): [string] | undefined {
  if (version === undefined || model === undefined || valid(version) === null) return undefined;
  const least = readCatalogue(projectOrProgram()).find(({ id }) => id === model)?.minimumVllm;
  if (least === undefined || atLeast(version, least)) return undefined;
  return [`${model} needs vLLM ${least} or newer, by the catalogue.`];
}
