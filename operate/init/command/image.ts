import {
  judgeServerImage,
  knownRelease,
  pinnedServer,
  versionsOf,
} from "../../../components/supply";
import { defined } from "../../../faults/defined";
import { hubName, imageReference, referenceFault } from "../../../machines/docker/imageReference";
import { pinsImage, type ServerImage } from "../serverImage";
import { refuseCommand } from "./words";

/** The image of a command's server, and what a person is told of it. */
export interface CommandImage {
  readonly image: ServerImage;
  readonly told: readonly string[];
  /** What to mend before `up`, a sentence each. */
  readonly mend: readonly string[];
}

/** The image that a command names, pinned where its digest is known; the usual one where it names none. */
export function imageOf(written: string | undefined, key?: string): CommandImage {
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
  const { repository, tag, digest } = reference;
  const release = knownRelease(digest ?? `${hubName(repository)}:${tag ?? ""}`);
  const { vllm, transformers } = versionsOf(release);
  if (release === undefined || vllm === undefined)
    return unknown({ image: written }, digest === undefined ? UNPINNED : PINNED, key);
  const { source } = release;
  const evidence = "published" as const;
  const versions = defined({ vllm, transformers, evidence, digest: release.digest, source });
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

const UNPINNED = "is kept as the command has it, and a tag can move";
const PINNED = "is kept as the command has it, and its digest is not in this program's list";

const builtText = (name: string, key = "b"): string =>
  `${name} is kept as the command has it. Its name has no registry, so it was probably built locally: push it to a registry, and pin it from there by \`serving pin REGISTRY/NAME:TAG --entry inferenceServers.${key} --write\`.`;

function unknown(image: { readonly image: string }, why: string, key?: string): CommandImage {
  const [name = ""] = image.image.split("@");
  const lasting = judgeServerImage(image).lasting;
  if (lasting.length > 0) {
    const [whys, remedies] = [lasting.map((each) => each.why), lasting.map((each) => each.remedy)];
    const mend = `${name} can't be used: ${whys.join("; ")}. ${remedies.join(" ")}`;
    return { image, told: [], mend: [mend] };
  }
  if (!name.includes("/")) return { image, told: [], mend: [builtText(name, key)] };
  const { build } = judgeServerImage({ image: name });
  if (build !== undefined)
    return { image, told: [], mend: [buildText(name, build, pinsImage(image, key))] };
  return {
    image,
    told: [],
    mend: [`${name} ${why}: ${pinsImage(image, key)} pins it, and reads the versions inside.`],
  };
}

/** Says of a development build what to take instead, and how it is kept. */
function buildText(name: string, build: string, pins: string): string {
  const [release] = pinnedServer().image.split("@");
  return `${name}: ${build}. Take a release, such as ${release}; or ${pins} pins this build, and reads the versions inside.`;
}
