/** The parts of `repository[:tag][@digest]`. */
export interface ImageReference {
  /** With its registry, as it was written. */
  readonly repository: string;
  readonly tag?: string | undefined;
  /** `sha256:` and 64 hex digits. */
  readonly digest?: string | undefined;
}

/** A digest as images are pinned by here. */
export const IMAGE_DIGEST = /^sha256:[0-9a-f]{64}$/;

/** As much of a digest as a person compares. */
export const shortDigest = (digest: string): string => digest.slice(0, "sha256:".length + 12);

/** An image's id, also as `docker images` prints it. */
const ID = /^(sha256:)?[0-9a-f]{12,64}$/;

const TAG = String.raw`\w[\w.-]{0,127}`;
const LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?";
/** A registry: a host's name or address, with or without a port. */
const REGISTRY = String.raw`(?:${LABEL}(?:\.${LABEL})*|\[[a-fA-F0-9:]+\])(?::\d+)?`;
const PART = String.raw`[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*`;

/**
 * The form of a reference: the grammar of the distribution project, which Docker goes by, with
 * digests that are sha256.
 */
export const IMAGE_REFERENCE = new RegExp(
  `^(?:${REGISTRY}/)?${PART}(?:/${PART})*(?::${TAG})?(?:@sha256:[0-9a-f]{64})?$`,
);

/** Longest name of a repository, its registry included. */
const LONGEST = 255;

/** Why a text of this form is still refused. */
export const IS_ID = "it is an image id, which doesn't name a repository";
export const TOO_LONG = `its name is longer than ${LONGEST} characters`;

/** Reads an image reference; `undefined` if it isn't one: `referenceFault` says why. */
export function imageReference(image: string): ImageReference | undefined {
  if (referenceFault(image) !== undefined) return undefined;
  return split(image);
}

function split(image: string): ImageReference {
  const [name = "", digest] = image.split("@");
  // A colon before the last slash belongs to the registry's port.
  const colon = name.indexOf(":", name.lastIndexOf("/") + 1);
  const [repository, tag] = colon < 0 ? [name] : [name.slice(0, colon), name.slice(colon + 1)];
  return { repository, tag, digest };
}

/**
 * Why a text is no image reference, as a clause about it; `undefined` for one that is. It quotes
 * nothing of the text.
 */
export function referenceFault(image: string): string | undefined {
  if (!IMAGE_REFERENCE.test(image)) return formFault(image);
  if (ID.test(image.split("@", 1)[0] ?? "")) return IS_ID;
  return split(image).repository.length > LONGEST ? TOO_LONG : undefined;
}

function formFault(image: string): string {
  const { repository, tag, digest } = split(image);
  if (/[\s\p{Cc}]/u.test(image)) return "it has a blank or a control character";
  if (image.split("@").length > 2) return "it has two digests";
  if (digest !== undefined && !IMAGE_DIGEST.test(digest))
    return "its digest is not `sha256:` with 64 hex digits in small letters";
  if (tag !== undefined && !new RegExp(`^${TAG}$`).test(tag))
    return "its tag is not 1 to 128 letters, digits, `_`, `.` and `-`, the first a letter, a digit or `_`";
  if (repository.split("/").includes("")) return "a part of its name is empty";
  if (/[A-Z]/.test(places(repository).path)) return "its repository has capitals";
  return "a part of its name is not letters and digits, joined by single `.`, `_` or `__`, or by `-`";
}

/**
 * Tells a registry from the path behind it as Docker does: by a dot, a colon, a capital, or the
 * name localhost.
 */
function places(repository: string): { readonly registry?: string; readonly path: string } {
  const slash = repository.indexOf("/");
  const first = repository.slice(0, Math.max(slash, 0));
  if (!/[.:A-Z]|^localhost$/.test(first)) return { path: repository };
  return { registry: first, path: repository.slice(slash + 1) };
}

/**
 * A repository in one spelling: Docker Hub's may be written with its host or without, and with
 * `library/`.
 */
export const hubName = (repository: string): string =>
  repository.replace(/^(?:index\.)?docker\.io\//, "").replace(/^library\//, "");

/** A repository's path without its registry, which a mirror keeps. */
export const pathOf = (repository: string): string => places(hubName(repository)).path;
