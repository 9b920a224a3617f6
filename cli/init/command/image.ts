import { defined } from "@local-serving/base/faults/defined";
import {
  hubName,
  imageReference,
  referenceFault,
} from "@local-serving/machines/docker/imageReference";
import {
  judgeServerImage,
  knownRelease,
  pinnedServer,
  versionsOf,
} from "../../../components/supply";
import type { Digests } from "../pinnedImages";
import { isInRegistry, isOfPodman, pinsImage, type ServerImage } from "../serverImage";
import { refuseCommand } from "./words";

/** The image of a command's server, and what a person is told of it. */
export interface CommandImage {
  readonly image: ServerImage;
  readonly told: readonly string[];
  /** What to mend before `up`, a sentence each. */
  readonly mend: readonly string[];
  /** Why it can't run here, whatever is read inside. */
  readonly refused?: RefusedImage;
}

/** Why an image can't run here, and whether it is no vLLM for such machines in any version. */
export interface RefusedImage {
  readonly why: string;
  readonly isOther: boolean;
}

/** What is known of an image beside its name. */
interface Known {
  /** Key of its server, where it is one of several. */
  readonly key?: string;
  readonly digests?: Digests;
}

/** The image that a command names, pinned where its digest is known; the usual one where it names none. */
export function imageOf(written: string | undefined, { key, digests }: Known = {}): CommandImage {
  if (written === undefined) {
    const image = pinnedServer();
    const [name = ""] = image.image.split("@");
    return {
      image,
      told: [`The command names no image: the server gets ${name}, as in every new stack file.`],
      mend: [],
    };
  }
  const reference = imageReference(written);
  if (reference === undefined)
    refuseCommand(
      `Its image can't be read: ${referenceFault(written) ?? "it is not an image reference"}.`,
    );
  const refused = refusal({ image: written });
  if (refused !== undefined)
    return { image: { image: written }, told: [], mend: [refused.why], refused };
  const given = digests?.get(written);
  if (given !== undefined) return ofRegistry(written, given, key);
  const { repository, tag, digest } = reference;
  const release = knownRelease(digest ?? `${hubName(repository)}:${tag ?? ""}`);
  const { vllm } = versionsOf(release);
  if (release === undefined || vllm === undefined)
    return unknown({ image: written }, digest === undefined ? UNPINNED : PINNED, key);
  const versions = recordOf(release);
  if (digest !== undefined) return { image: { image: written, versions }, told: [], mend: [] };
  const name = `${repository}:${tag}`;
  return {
    image: { image: `${name}@${release.digest}`, versions },
    told: [
      `${name} is pinned by the digest in this program's list: \`serving pin ${name}\` asks the registry.`,
    ],
    mend: [],
  };
}

/** The record of a release of the supply list. */
function recordOf(release: NonNullable<ReturnType<typeof knownRelease>>) {
  const { digest, source } = release;
  const { vllm, transformers } = versionsOf(release);
  return defined({ vllm, transformers, evidence: "published" as const, digest, source });
}

/** An image with the digest that its registry gave for its tag. */
function ofRegistry(name: string, digest: string, key?: string): CommandImage {
  const release = knownRelease(digest);
  const image = { image: `${name}@${digest}` };
  const { build } = judgeServerImage({ image: name });
  if (build !== undefined)
    return { image, told: [], mend: [buildText(name, build, pinsImage(image, key))] };
  const told = `${name} is pinned by the digest that its registry gives for the tag today`;
  return versionsOf(release).vllm === undefined || release === undefined
    ? {
        image,
        told: [
          `${told}; \`serving up\` at a terminal reads the versions inside, and until then \`serving plan\` refuses it.`,
        ],
        mend: [],
      }
    : { image: { ...image, versions: recordOf(release) }, told: [`${told}.`], mend: [] };
}

const UNPINNED = "is kept as the command has it, and a tag can move";
const PINNED = "is kept as the command has it, and its digest is not in this program's list";

const builtText = (name: string, key = "b"): string =>
  `${name} is kept as the command has it. ${isOfPodman(name) ? "`localhost/` is what Podman calls an image that was built on the machine, and no registry can be asked for it" : "Its name has no registry, so it was probably built locally"}: push it to a registry, and pin it from there by \`serving pin REGISTRY/NAME:TAG --entry inferenceServers.${key} --write\`.`;

function unknown(image: { readonly image: string }, why: string, key?: string): CommandImage {
  const [name = ""] = image.image.split("@");
  if (!isInRegistry(name)) return { image, told: [], mend: [builtText(name, key)] };
  const { build } = judgeServerImage({ image: name });
  if (build !== undefined)
    return { image, told: [], mend: [buildText(name, build, pinsImage(image, key))] };
  return {
    image,
    told: [],
    mend: [`${name} ${why}: ${pinsImage(image, key)} pins it, and reads the versions inside.`],
  };
}

/** What is known against an image whatever a look inside finds; `undefined` where nothing is. */
function refusal(image: ServerImage): RefusedImage | undefined {
  const { lasting } = judgeServerImage(image);
  if (lasting.length === 0) return undefined;
  const [name = ""] = image.image.split("@");
  const whys = lasting.map((each) => each.why).join("; ");
  const other = lasting.filter((each) => each.isOther === true);
  const remedies = new Set((other.length > 0 ? other : lasting).map((each) => each.remedy));
  return {
    why: `${name} can't be used: ${whys}. ${[...remedies].join(" ")}`,
    isOther: other.length > 0,
  };
}

/** Says of a development build what to take instead, and how it is kept. */
function buildText(name: string, build: string, pins: string): string {
  const [release] = pinnedServer().image.split("@");
  return `${name}: ${build}. Take a release, such as ${release}; or ${pins} pins this build, and reads the versions inside.`;
}
