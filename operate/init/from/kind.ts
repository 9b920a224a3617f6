import type { Launch } from "../command/launch";
import type { LeftOut } from "../command/words";
import type { Source } from "./source";

/** A kind of file that people publish, and how servers of vLLM are found in it. */
export interface PublishedKind {
  /** What a person calls it: `a compose file`. */
  readonly kind: string;
  /** Tells it from every other kind, without reading all of it. */
  looksLike(source: Source): boolean;
  servers(source: Source): FileRead;
}

/** What was read of a file. */
export interface FileRead {
  /** Its servers of vLLM, in the order of the file. */
  readonly servers: readonly FileServer[];
  /** What else stands in it and isn't carried over. */
  readonly leftOut?: readonly LeftOut[];
  /** Why it has no server, and what takes its place here; for a file without one. */
  readonly none?: string;
  /** Files that it writes, where it has no server itself. */
  readonly documents?: readonly string[];
  /** What a person is told of the file, a sentence each. */
  readonly told?: readonly string[];
}

/** One server of a file. */
export interface FileServer {
  /** What the file calls it: "the service `vllm`". */
  readonly name: string;
  /** Reads it, or refuses it in a sentence. */
  launch(): Launch;
}
