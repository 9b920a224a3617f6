import { Failed } from "@local-serving/base/commandLine/exit";
import { defined } from "@local-serving/base/faults/defined";
import { type JsonObject, objectOr, objectsIn, textOr } from "@local-serving/base/faults/json";
import { counted } from "@local-serving/base/faults/quoting";
import { imageReference, shortDigest } from "@local-serving/machines/docker/imageReference";
import {
  hasReleaseTags,
  IMAGES_FOR,
  judgeServerImage,
  knownRelease,
  PLANNED_ON,
  taggedVersion,
  versionsOf,
} from "../../components/supply";
import { sameRelease } from "../../components/supply/releases";
import { judgeImage, packageOf } from "./judgeImage";
import { answerOrFailed, Registry } from "./registry";
import { entryName, type ImageEntry } from "./writePin";

/** What a registry says of an entry's image, held against what the stack file records of it. */
interface CheckedPin {
  readonly entry: string;
  readonly image: string;
  /** Digest that the tag points to now, where the registry says it. */
  readonly points?: string;
  /** Platforms that the image is made for, where the registry says it: `linux/arm64`. */
  readonly platforms?: readonly string[];
  /** Recorded versions that something else says, too, by package. */
  readonly confirmed?: Readonly<Record<string, string>>;
  /** Why the registry says nothing, or not all. */
  readonly notChecked?: string;
  /** What contradicts the stack file, and what forbids the image. */
  readonly faults: readonly string[];
  /** What nobody could hold against the record; no fault. */
  readonly open: readonly string[];
}

/**
 * Asks the registry of an entry's image, and pulls nothing: whether it has the digest, whether the tag
 * still points to it, for which platforms it is, and which version it says it has. Also whether
 * the image may still run.
 */
export async function checkPin(entry: ImageEntry): Promise<CheckedPin> {
  const { image, versions: { digest: recordedOf = "", evidence, vllm, transformers } = {} } = entry;
  const of = { entry: entryName(entry), image };
  const { repository, tag, digest } = imageReference(image) ?? {};
  if (repository === undefined || digest === undefined)
    return { ...of, faults: [unpinnedFault(entry)], open: [] };
  const versions = defined({ vllm, transformers });
  const recorded = entry.versions && { versions, recordedOf, ...defined({ evidence }) };
  const { verdict, reasons } = judgeImage({ image, digest, ...recorded }, entry);
  const denied = verdict === "refused" ? reasons : [];
  const pinned = { repository, digest, versions, ...defined({ tag }) };
  const asked = await answerOrFailed(askRegistry(pinned, entry.versions?.platformDigest));
  if (asked instanceof Failed)
    return { ...of, notChecked: asked.message, faults: denied, open: [] };
  return { ...of, ...asked, faults: [...asked.faults, ...denied] };
}

/** An image with its digest, and what is recorded of it. */
interface Pinned {
  readonly repository: string;
  readonly digest: string;
  readonly tag?: string;
  readonly versions: Readonly<Record<string, string>>;
}

type Asked = Omit<CheckedPin, "entry" | "image">;

async function askRegistry(pinned: Pinned, recorded: string | undefined): Promise<Asked> {
  const { repository, digest, tag } = pinned;
  const registry = new Registry(repository);
  const points = tag === undefined ? undefined : await registry.digest(tag);
  const moved = tag === undefined ? [] : tagFaults({ ...pinned, tag }, points);
  const manifest = await answerOrFailed(registry.manifest(digest));
  if (manifest instanceof Failed)
    return { ...defined({ points }), notChecked: manifest.message, faults: moved, open: [] };
  if (manifest === undefined)
    return {
      ...defined({ points }),
      faults: [`${repository} has no image with the digest ${shortDigest(digest)}.`, ...moved],
      open: [],
    };
  const parts = await platformsOf(registry, manifest, digest);
  const own = parts.find(({ platform }) => platform === IMAGES_FOR);
  const said = await versionsSaid(registry, { pinned, points, own });
  return {
    ...defined({ points }),
    platforms: parts.map(({ platform }) => platform),
    confirmed: said.confirmed,
    faults: [...moved, ...platformFaults(parts, recorded), ...said.faults],
    open: [...readElsewhere(parts, recorded), ...said.open],
  };
}

function tagFaults({ repository, tag, digest }: Required<Pinned>, points: string | undefined) {
  if (points === undefined)
    return [`${repository} has no ${tag} any more: the image may vanish, too.`];
  if (points === digest) return [];
  return [
    `${tag} points to ${shortDigest(points)} now: somebody moved the tag. Find out why before you pin it anew.`,
  ];
}

/** An image for one platform. */
interface Part {
  readonly platform: string;
  readonly digest: string;
  readonly manifest?: JsonObject;
}

/** The images of an index by their platforms, without what only attests them; or the one image. */
async function platformsOf(
  registry: Registry,
  manifest: JsonObject,
  digest: string,
): Promise<Part[]> {
  const platform = ({ os, architecture }: JsonObject) => `${textOr(os)}/${textOr(architecture)}`;
  if (manifest.manifests === undefined)
    return [{ platform: platform(await registry.configuration(manifest)), digest, manifest }];
  return objectsIn(manifest.manifests)
    .map((each) => ({ platform: platform(objectOr(each.platform)), digest: textOr(each.digest) }))
    .filter((each) => each.platform !== "unknown/unknown");
}

function platformFaults(parts: readonly Part[], recorded: string | undefined): string[] {
  const made = parts.map(({ platform }) => platform).join(" and ");
  if (parts.every(({ platform }) => platform !== IMAGES_FOR))
    return [`It is made for ${made}, and servers here run on ${PLANNED_ON}: ${IMAGES_FOR}.`];
  if (recorded === undefined || parts.some(({ digest }) => digest === recorded)) return [];
  return [
    `\`versions.platformDigest\` is ${shortDigest(recorded)}, and no image of this digest is that (${made}).`,
  ];
}

/** Says that somebody looked into the image of another platform, on a laptop for example. */
function readElsewhere(parts: readonly Part[], recorded: string | undefined): string[] {
  const { platform } = parts.find(({ digest }) => digest === recorded) ?? {};
  if (platform === undefined || platform === IMAGES_FOR) return [];
  return [`The versions were read in the image for ${platform}, not in the one for ${IMAGES_FOR}.`];
}

/** What is known of an image where its recorded versions are checked. */
interface Around {
  readonly pinned: Pinned;
  readonly points: string | undefined;
  readonly own: Part | undefined;
}

/** Which recorded versions the supply list, the tag or the image itself says, too. */
async function versionsSaid(registry: Registry, { pinned, points, own }: Around) {
  const { repository, digest, tag, versions } = pinned;
  const listed = versionsOf(knownRelease(digest));
  const isOfficial = hasReleaseTags(repository);
  const tagged =
    isOfficial && points === digest ? taggedVersion("vllm", { repository, tag }) : undefined;
  const agrees = (name: string, other: string | undefined) =>
    other !== undefined && sameRelease(versions[name] ?? "", other);
  const confirmed = Object.keys(versions).flatMap((name): [string, string][] => {
    if (agrees(name, listed[name])) return [[name, "the supply list"]];
    return name === "vllm" && agrees(name, tagged) ? [[name, "its tag"]] : [];
  });
  const asks = versions.vllm !== undefined && confirmed.every(([name]) => name !== "vllm");
  const asked = asks && own ? await answerOrFailed(vllmSaid(registry, own, repository)) : undefined;
  const inside = asked instanceof Failed ? undefined : asked;
  if (agrees("vllm", inside)) confirmed.push(["vllm", "the image's own variable"]);
  const differs = inside !== undefined && !agrees("vllm", inside);
  const said = `The image's own variable says vllm ${inside}, and its record vllm ${versions.vllm}`;
  const known = new Set(confirmed.map(([name]) => name));
  const open = Object.entries(versions)
    .filter(([name]) => !known.has(name) && !(name === "vllm" && differs))
    .map(([name, version]) => `${name} ${version} is what the record says: no registry tells it.`);
  return {
    confirmed: Object.fromEntries(confirmed),
    faults: differs && isOfficial ? [`${said}.`] : [],
    open: [
      ...(differs && !isOfficial
        ? [`${said}. It may be of the image that this one was built from.`]
        : []),
      ...open,
    ],
  };
}

/** vLLM's own images have their tag in a variable; `undefined` where it names no release. */
async function vllmSaid(
  registry: Registry,
  { digest, manifest }: Part,
  repository: string,
): Promise<string | undefined> {
  const own = manifest ?? (await registry.manifest(digest)) ?? {};
  const { Env: variables } = objectOr(objectOr(await registry.configuration(own)).config);
  const all = Array.isArray(variables) ? variables.map(String) : [];
  const [, said] = all.flatMap((each) => /^VLLM_IMAGE_TAG=(?:\S*:)?(\S+)$/.exec(each) ?? []);
  return said === undefined
    ? undefined
    : taggedVersion("vllm", {
        repository: hasReleaseTags(repository) ? repository : OWN,
        tag: said,
      });
}

/** Where vLLM's own tags are. */
const OWN = "vllm/vllm-openai";

/** What to say of an image without a digest: nobody pins what can't be used anyway. */
function unpinnedFault(entry: ImageEntry): string {
  const isServer = packageOf(entry)?.name === "vllm";
  const lasting = isServer ? judgeServerImage({ image: entry.image }).lasting : [];
  if (lasting.length === 0)
    return "It has no digest: `serving pin IMAGE:TAG --write` gives it one.";
  const why = lasting.map((each) => `It can't be used: ${each.why}. ${each.remedy}`);
  return [...why, "It has no digest."].join(" ");
}

/** Whether something contradicts the stack file; `unreadable` where a registry didn't say all. */
export function checkFailed(checked: readonly CheckedPin[]): boolean | "unreadable" {
  if (checked.some(({ faults }) => faults.length > 0)) return true;
  return checked.some(({ notChecked }) => notChecked !== undefined) ? "unreadable" : false;
}

export function checkText(checked: readonly CheckedPin[]): string {
  const missing = checked.filter(({ notChecked }) => notChecked !== undefined).length;
  const lines = checked.flatMap((each) => [
    `${markOf(each)} ${each.entry}: ${withShort(each.image)}`,
    ...[...each.faults, ...[each.notChecked ?? []].flat(), ...agreed(each), ...each.open].map(
      (line) => `      ${line}`,
    ),
  ]);
  const wrong = checked.filter(({ faults }) => faults.length > 0).length;
  const faulty = wrong === 0 ? "" : `${counted(wrong, "image has", "images have")} a fault. `;
  const unread = `${faulty}${counted(missing, "image was", "images were")} not checked at the registry: that is neither a fault nor a proof. Run this again where the registry can be reached.`;
  return [...lines, ...(missing > 0 ? ["", unread] : [])].join("\n");
}

const withShort = (image: string): string => image.replace(/sha256:[0-9a-f]{64}/, shortDigest);

function markOf({ faults, notChecked }: CheckedPin): string {
  if (faults.length > 0) return "FAULT";
  return notChecked === undefined ? "ok   " : "NOT CHECKED";
}

/** What the registry says as the stack file does. */
function agreed({ image, points, platforms = [], confirmed = {} }: CheckedPin): string[] {
  const { tag, digest } = imageReference(image) ?? {};
  if (platforms.length === 0) return [];
  const tagged = points !== undefined && points === digest ? `, and ${tag} points to it` : "";
  return [
    `The registry has this digest${tagged}. It is made for ${platforms.join(" and ")}.`,
    ...Object.entries(confirmed).map(([name, by]) => `${name} is as recorded, by ${by}.`),
  ];
}
