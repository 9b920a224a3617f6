import { defined } from "../../faults/defined";

/** The parts of `repository[:tag][@digest]`. */
export interface ImageReference {
  readonly repository: string;
  readonly tag?: string;
  /** `sha256:` and 64 hex digits. */
  readonly digest?: string;
}

const DIGEST = /^sha256:[0-9a-f]{64}$/;
/** An image's id, also as `docker images` prints it. */
const ID = /^(sha256:)?[0-9a-f]{12,64}$/;

/** Reads an image reference; `undefined` if it isn't one, such as a bare image id. */
export function imageReference(image: string): ImageReference | undefined {
  const [name = "", digest, ...more] = image.split("@");
  if (more.length > 0 || (digest !== undefined && !DIGEST.test(digest)) || ID.test(name)) return undefined;
  // A colon before the last slash belongs to the registry's port.
  const colon = name.indexOf(":", name.lastIndexOf("/") + 1);
  const repository = colon < 0 ? name : name.slice(0, colon);
  const tag = colon < 0 ? undefined : name.slice(colon + 1);
  if (!/^[a-z0-9]/i.test(repository) || (tag !== undefined && !/^\w[\w.-]{0,127}$/.test(tag))) return undefined;
  return { repository, ...defined({ tag, digest }) };
}

/** Well-known images: what each serves, its name, and the package that it is made for, whose release its tags name. */
const KNOWN_IMAGES = [
  // vllm/vllm-openai, nvcr.io/nvidia/vllm, anything with /vllm in its name, and community builds named ...-vllm.
  { role: "inference-server", name: /(^|\/)vllm|-vllm$/i, package: "vllm" },
  { role: "bridge", name: /(^|\/)litellm/i, package: "litellm" },
  { role: "chat-ui", name: /(^|\/)open-webui/i, package: "open-webui" },
  { role: "simple-server", name: /(^|\/)ollama/i, package: "ollama" },
] as const;

type Role = (typeof KNOWN_IMAGES)[number]["role"];

function knownImage(image: string) {
  const repository = image.split("@")[0]?.replace(/:[^/]*$/, "") ?? image;
  return KNOWN_IMAGES.find(({ name }) => name.test(repository));
}

/** The role of an image by its name, `undefined` for any other image. */
export const roleOf = (image: string): Role | undefined => knownImage(image)?.role;

/** The package that an image is made for, `undefined` for any other image. */
export const packageOf = (image: string): string | undefined => knownImage(image)?.package;
