import { randomBytes } from "node:crypto";
import { Failed, WrongUse } from "../../commandLine/exit";
import { runShown } from "../../commandLine/run";
import { isRecord, jsonIn } from "../../faults/json";
import { docker, dockerJson, NO_DOCKER } from "../../machines/docker/docker";
import {
  type ImageReference,
  imageReference,
  referenceFault,
} from "../../machines/docker/imageReference";
import { platformDigest } from "../../machines/docker/manifest";

/** What `serving pin` reads of an image. */
export interface ImageReading {
  readonly image: string;
  /** "" for an image that was named by its digest alone. */
  readonly tag: string;
  /** Digest of what the tag points at: the multi-arch index, where there is one. */
  readonly digest: string;
  /** Digest of this machine's own image within the index; the same digest for a single image. */
  readonly platformDigest: string;
  /** Package versions inside the image; a package that is not there is left out. */
  readonly versions: Readonly<Record<string, string>>;
}

/** Python packages whose versions tell what an image is. */
const PACKAGES = ["vllm", "transformers", "torch", "flashinfer-python", "litellm", "open-webui"];

/**
 * Reads package metadata, so that neither a GPU nor a minute is needed. Only a package without any,
 * such as a source tree on the path, is imported and asked.
 */
export const READ_VERSIONS = `
import contextlib, importlib, importlib.metadata, importlib.util, json, sys
def imported(name):
    if not name.isidentifier() or importlib.util.find_spec(name) is None:
        return None
    with contextlib.redirect_stdout(sys.stderr):
        return getattr(importlib.import_module(name), "__version__", None)
found = {}
for name in ${JSON.stringify(PACKAGES)}:
    for read in (importlib.metadata.version, imported):
        try:
            version = read(name)
        except BaseException:
            continue
        if version:
            found[name] = str(version)
            break
print(json.dumps(found))
`.trim();

/**
 * Starting the interpreter in a fresh container of a 20 GB image can take a while on a cold disk.
 */
const READ_TIMEOUT_SECONDS = 300;

const REMOVE_SECONDS = 20;

/**
 * Pulls the image and reads its digests and the versions inside. Starts one short-lived container
 * without network.
 */
export async function readImage(reference: string): Promise<ImageReading> {
  const { repository, tag = "", digest: given } = splitReference(reference);
  // Docker doesn't look at the tag beside a digest.
  const pulled = given === undefined ? `${repository}:${tag}` : `${repository}@${given}`;
  await pull(pulled);
  const digest = given ?? (await pulledDigest(repository, pulled));
  const pinned = `${repository}@${digest}`;
  const [own = digest, versions] = await Promise.all([
    platformDigest(pinned),
    versionsInside(pinned),
  ]);
  const image = `${repository}${tag && `:${tag}`}@${digest}`;
  return { image, tag, digest, platformDigest: own, versions };
}

/**
 * Splits `host:5000/name:tag@digest`. Throws `WrongUse` without tag and digest: what would be
 * pinned must be said.
 */
export function splitReference(reference: string): ImageReference {
  const parts = imageReference(reference);
  if (parts !== undefined && (parts.tag ?? parts.digest) !== undefined) return parts;
  const why = referenceFault(reference) ?? "it has no tag";
  throw new WrongUse(
    `${reference}: expected IMAGE:TAG, for example vllm/vllm-openai:v0.30.0 (${why})`,
  );
}

async function pulledDigest(repository: string, reference: string): Promise<string> {
  const digests = await dockerJson([
    "image",
    "inspect",
    "--format",
    "{{json .RepoDigests}}",
    reference,
  ]);
  const own = Array.isArray(digests) ? digests.map(String) : [];
  const digest = own
    .find((each) => each.startsWith(`${repository}@`) || own.length === 1)
    ?.split("@")[1];
  if (digest === undefined)
    throw new Failed(
      `${reference} was built here and never pushed: only a registry gives an image a digest.`,
    );
  return digest;
}

/**
 * Package versions inside an image that is already here, read in one short-lived container without
 * network.
 */
export async function versionsInside(
  image: string,
  dockerHost?: string,
): Promise<Record<string, string>> {
  const name = `local-serving-versions-${randomBytes(4).toString("hex")}`;
  const isolated = ["--rm", "--network", "none", "--name", name];
  const run = ["run", ...isolated, "--entrypoint", "python3", image, "-c", READ_VERSIONS];
  const printed = await docker(run, READ_TIMEOUT_SECONDS, dockerHost).catch(
    async (error: unknown) => {
      // A client that gave up leaves its container running.
      await docker(["rm", "--force", name], REMOVE_SECONDS, dockerHost).catch(() => {});
      throw error;
    },
  );
  const versions = parseVersions(printed);
  if (versions === undefined) throw new Failed(`${image}: the versions inside could not be read.`);
  return versions;
}

/** What `READ_VERSIONS` printed; `undefined` when it is something else. */
export function parseVersions(printed: string): Record<string, string> | undefined {
  const found = jsonIn(printed);
  if (!isRecord(found)) return undefined;
  return Object.fromEntries(
    Object.entries(found).map(([name, version]) => [name, String(version)]),
  );
}

/** Pulls an image; what docker prints goes to stderr, for a person to see. */
async function pull(image: string): Promise<void> {
  const code = await runShown(["docker", "pull", image], { stdio: ["ignore", 2, 2] }).catch(() => {
    throw new Failed(NO_DOCKER);
  });
  if (code !== 0) throw new Failed(`docker pull failed (exit code ${code}).`);
}
