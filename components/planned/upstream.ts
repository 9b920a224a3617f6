import type { Listening } from "./reach";

/** What services and clients need to know of a server that they use. */
export interface Upstream extends Listening {
  /** Key of `inferenceServers`, `instance-a` or `simple-server`. */
  readonly key: string;
  readonly kind: "inference-server" | "instance-a" | "simple-server";
  /** Names that it answers to, the canonical one first; empty where none is known. */
  readonly names: readonly string[];
  /** Window in tokens, where it is known. */
  readonly maxModelLen: number | undefined;
  /** Scheme, host and port as a container of ours reaches it. */
  readonly fromContainer: string;
  /** Name of its container, where it is ours. */
  readonly container: string | undefined;
}

/** What stands where a server insists on a key and ignores its value. */
export const PLACEHOLDER_KEY = "local-serving-placeholder";
