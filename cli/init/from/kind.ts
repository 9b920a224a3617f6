import type { SERVICES } from "../../../components/services";
import type { ScriptFile } from "../command/scriptState";
import type { Launch } from "../command/started";
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
  /** Programs beside the servers that have a block of a stack file. */
  readonly services?: readonly FoundService[];
  /** What else stands in it and isn't carried over. */
  readonly leftOut?: readonly LeftOut[];
  /** Why nobody can tell which server is wanted, where it starts one or another of them. */
  readonly choice?: string;
  /** Why it has no server, and what takes its place here; for a file without one. */
  readonly none?: string;
  /** Files that it writes: a server may be started by one of them. */
  readonly documents?: readonly ScriptFile[];
  /** Files that it brings, and that start nothing. */
  readonly files?: readonly ScriptFile[];
  /** What a person is told of the file, a sentence each. */
  readonly told?: readonly string[];
}

/** A part of a file: a server, or something else that is named. */
export type FilePart =
  | { readonly server: FileServer }
  | { readonly service: FoundService }
  | { readonly other: LeftOut };

/** A program beside the servers that a service of a stack file takes the place of. */
export interface FoundService {
  /** What the file calls it. */
  readonly name: string;
  /** Its block in the stack file. */
  readonly key: (typeof SERVICES)[number]["key"];
  /** What the block takes over; a value that can't be one of its own is dropped later. */
  readonly block: Readonly<Record<string, unknown>>;
}

/** A file by its parts; `none` is said where none of them is a server. */
export const readOf = (parts: readonly FilePart[], none: string): FileRead => ({
  servers: parts.flatMap((part) => ("server" in part ? [part.server] : [])),
  services: parts.flatMap((part) => ("service" in part ? [part.service] : [])),
  leftOut: parts.flatMap((part) => ("other" in part ? [part.other] : [])),
  none,
});

/** One server of a file. */
export interface FileServer {
  /** What the file calls it: "the service `vllm`". */
  readonly name: string;
  /** Its name alone, as a person may have chosen it: `vllm`. */
  readonly called?: string;
  /** The line of its file that it begins in, where the start doesn't know it. */
  readonly line?: number;
  /** It runs only if somebody asks for it. */
  readonly isAsked?: true;
  /** Reads it, or refuses it in a sentence. */
  launch(): Launch;
}
