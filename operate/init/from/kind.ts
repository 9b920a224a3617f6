import type { SERVICES } from "../../../components/services";
import { ownValue } from "../../../faults/defined";
import type { Launch } from "../command/started";
import { asWritten, type LeftOut } from "../command/words";
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
  /** Files that it writes, where it has no server itself. */
  readonly documents?: readonly string[];
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

/** Says of each key that a map has, and that has no place in a stack file, why. */
export const withoutPlace = (
  why: Readonly<Record<string, string>>,
  has: (key: string) => boolean,
  named: (key: string) => string,
): LeftOut[] =>
  Object.entries(why).flatMap(([key, reason]) =>
    has(key) ? [{ what: named(key), why: reason }] : [],
  );

/** How keys of a map that nobody reads are said. */
interface UnreadWords {
  readonly named: (key: string) => string;
  /** Why a key has no place in a stack file, where there is more to say than `otherwise`. */
  readonly why?: Readonly<Record<string, string>>;
  readonly otherwise?: string;
}

/** Says of each key that isn't read that it isn't carried over. */
export const unreadKeys = (
  keys: Iterable<string>,
  isRead: (key: string) => boolean,
  { named, why = {}, otherwise = "a server has no setting for it." }: UnreadWords,
): LeftOut[] =>
  [...keys].flatMap((key) =>
    isRead(key) ? [] : [{ what: named(asWritten(key)), why: ownValue(why, key) ?? otherwise }],
  );

/** One server of a file. */
export interface FileServer {
  /** What the file calls it: "the service `vllm`". */
  readonly name: string;
  /** Its name alone, as a person may have chosen it: `vllm`. */
  readonly called?: string;
  /** It runs only if somebody asks for it. */
  readonly isAsked?: true;
  /** Reads it, or refuses it in a sentence. */
  launch(): Launch;
}
