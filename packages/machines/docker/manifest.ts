import { Failed } from "@local-serving/base/faults/fault";
import { objectOr, objectsIn, textOr } from "@local-serving/base/faults/json";
import { docker, dockerJson } from "./docker";

/**
 * Digest of an engine's own image within what a reference points at; `undefined` where that is a
 * single image.
 */
export async function platformDigest(
  reference: string,
  dockerHost?: string,
): Promise<string | undefined> {
  return ownDigest(reference, await manifest(reference, dockerHost), dockerHost);
}

/**
 * The layers of an engine's own image: bytes to download by digest, as the registry says. Throws
 * `Failed` with docker's words.
 */
export async function layersOf(
  reference: string,
  dockerHost: string,
): Promise<Map<string, number>> {
  const answer = await manifest(reference, dockerHost);
  const own = await ownDigest(reference, answer, dockerHost);
  const image =
    own === undefined ? answer : await manifest(`${repositoryOf(reference)}@${own}`, dockerHost);
  return new Map(objectsIn(image.layers).map(({ digest, size }) => [textOr(digest), Number(size)]));
}

/** `host:5000/name` of `host:5000/name:tag@digest`. */
export function repositoryOf(reference: string): string {
  return reference.replace(/@.*$/, "").replace(/:[^/:]*$/, "");
}

async function manifest(reference: string, dockerHost?: string) {
  const insecure = /^(localhost|127\.)/.test(reference) ? ["--insecure"] : [];
  // It knows either a tag or a digest.
  const named = reference.replace(/:[^/:@]+@/, "@");
  return objectOr(await dockerJson(["manifest", "inspect", ...insecure, named], dockerHost));
}

async function ownDigest(
  reference: string,
  answer: Awaited<ReturnType<typeof manifest>>,
  dockerHost?: string,
) {
  if (answer.manifests === undefined) return undefined;
  const platform = ["version", "--format", "{{.Server.Os}}/{{.Server.Arch}}"];
  const here = (await docker(platform, dockerHost)).trim();
  const own = objectsIn(answer.manifests).find((each) => {
    const { os, architecture } = objectOr(each.platform);
    return `${os}/${architecture}` === here;
  });
  if (own === undefined) throw new Failed(`${reference} has no image for this machine (${here}).`);
  return textOr(own.digest);
}
