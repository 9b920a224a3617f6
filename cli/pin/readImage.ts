import { Failed, WrongUse } from "@local-serving/base/commandLine/exit";
import { say } from "@local-serving/base/commandLine/output";
import { eachLine, start } from "@local-serving/base/commandLine/run";
import { defined } from "@local-serving/base/faults/defined";
import {
  dockerCommand,
  dockerJson,
  hasImage,
  NO_DOCKER,
} from "@local-serving/machines/docker/docker";
import {
  type ImageReference,
  imageReference,
  referenceFault,
} from "@local-serving/machines/docker/imageReference";
import { platformDigest } from "@local-serving/machines/docker/manifest";
import { explained } from "../../components/preflight/fetch";
import { versionsInside } from "../sees/packageVersions";
import { Registry } from "./registry";

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

/**
 * Pulls the image and reads its digests and the versions inside. Starts one short-lived container
 * without network. A digest that is there needn't be pulled.
 */
export async function readImage(reference: string, dockerHost?: string): Promise<ImageReading> {
  const { repository, tag = "", digest: given } = splitReference(reference);
  // Docker doesn't look at the tag beside a digest.
  const pulled = given === undefined ? `${repository}:${tag}` : `${repository}@${given}`;
  if (given === undefined || !(await hasImage(pulled, dockerHost)))
    await pull(pulled, dockerHost, () => noSuchTag(repository, given ?? tag));
  const digest = given ?? (await pulledDigest(repository, pulled, dockerHost));
  const pinned = `${repository}@${digest}`;
  const [own = digest, versions] = await Promise.all([
    platformDigest(pinned, dockerHost),
    versionsInside(pinned, dockerHost),
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

async function pulledDigest(
  repository: string,
  reference: string,
  dockerHost?: string,
): Promise<string> {
  const inspect = ["image", "inspect", "--format", "{{json .RepoDigests}}", reference];
  const digests = await dockerJson(inspect, dockerHost);
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

/** How a shell ends that finds no such program. */
const NOT_FOUND = 127;

/** What docker says last is where the cause is. */
const KEPT_CHARACTERS = 4000;

/** Pulls an image; what docker prints goes to stderr, for a person to see. */
async function pull(
  image: string,
  dockerHost: string | undefined,
  why: () => Promise<string>,
): Promise<void> {
  const { words, env } = dockerCommand(["pull", image], dockerHost);
  const { stdout, ended } = start(words, { ...defined({ env }), merged: true, inSession: true });
  let said = "";
  eachLine(stdout, (line) => {
    said = `${said}\n${line}`.slice(-KEPT_CHARACTERS);
    say(line);
  });
  const { code } = await ended;
  if (code === NOT_FOUND) throw new Failed(NO_DOCKER);
  if (code === 0) return;
  const of = { kind: "image", name: image } as const;
  throw new Failed(`${explained(of, said, "this again")}${await why()}`);
}

/** That a registry has no such tag or digest, and what lists those it has; "" where it has. */
async function noSuchTag(repository: string, tag: string): Promise<string> {
  try {
    if ((await new Registry(repository).digest(tag)) !== undefined) return "";
  } catch (error) {
    if (error instanceof Failed) return "";
    throw error;
  }
  return ` The registry has no ${tag} of ${repository}: \`serving pin --newer\` lists newer releases of the stack file's images.`;
}
