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

/** What a well-known image serves. */
export type Role =
  | "inference-server"
  | "bridge"
  | "chat-ui"
  | "simple-server"
  | "prometheus"
  | "grafana"
  | "node-exporter";

const ROLES: readonly (readonly [Role, RegExp])[] = [
  // vllm/vllm-openai, nvcr.io/nvidia/vllm, anything with /vllm in its name, and community builds named ...-vllm.
  ["inference-server", /(^|\/)vllm|-vllm$/i],
  ["bridge", /(^|\/)litellm/i],
  ["chat-ui", /(^|\/)open-webui/i],
  ["simple-server", /(^|\/)ollama/i],
  ["prometheus", /(^|\/)prometheus$/i],
  ["grafana", /(^|\/)grafana$/i],
  ["node-exporter", /(^|\/)node-exporter$/i],
];

/** The role of an image by its name, `undefined` for any other image. */
export function roleOf(image: string): Role | undefined {
  const repository = image.split("@")[0]?.replace(/:[^/]*$/, "") ?? image;
  return ROLES.find(([, pattern]) => pattern.test(repository))?.[0];
}

const PACKAGES: Readonly<Record<Role, string>> = {
  "inference-server": "vllm",
  bridge: "litellm",
  "chat-ui": "open-webui",
  prometheus: "prometheus",
  grafana: "grafana",
  "node-exporter": "node-exporter",
  "simple-server": "ollama",
};

/** The package that an image is made for, whose release its tags name; `undefined` for any other image. */
export function packageOf(image: string): string | undefined {
  const role = roleOf(image);
  return role && PACKAGES[role];
}
