export interface ContainerChange {
  /** Name of the resource in the stack, by which old and new belong together. */
  readonly resource: string;
  /** Key in the stack file, else `bridge` or `chat-ui`. */
  readonly key: string;
  /** Name of the container; of a removed one the old. */
  readonly name: string;
  readonly kind: "created" | "replaced" | "removed" | "unchanged";
  /** What differs, where it is replaced. */
  readonly changes: readonly ArgumentChange[];
  /** The time until the new one answers, in parts; of a replaced one it is the time that it is gone. */
  readonly steps: readonly Step[];
  /** The image that is pulled before the old container is touched. */
  readonly pulls: string | null;
  /** Models that the new one may have to download first, while nothing answers. */
  readonly downloads: readonly string[];
}

/** One argument of a container: a flag such as `--max-model-len`, a variable such as `env MAX_JOBS`, or one of Docker's own. */
export interface ArgumentChange {
  readonly argument: string;
  /** `null` where the container has none. */
  readonly before: string | null;
  readonly after: string | null;
}

/** Seconds, from the least to the most that was seen or is allowed. */
export interface Span {
  readonly least: number;
  readonly most: number;
}

/** One part of the time until a container answers. */
export interface Step extends Span {
  readonly what: string;
  /** Who measured the figures, or what bounds them. */
  readonly source: string;
  /** Set where this part is saved if the same has run here before: what it made is kept in this volume. */
  readonly keptIn?: string;
}

/** Something that clients had before an update, and lose for a while or for good. */
export interface Loss {
  /** Key of what they use: a server's, `bridge`, `chat-ui` or `simple-server`. */
  readonly key: string;
  readonly what: "gone" | "fails" | "removed" | "names" | "window" | "address";
  /** Names that it answers to; of `names` only those that go. */
  readonly names: readonly string[];
  /** Who uses it: clients, `bridge`, `chat-ui`, and on another machine `MACHINE.bridge`. */
  readonly users: readonly string[];
  /** Window in tokens, or URL. */
  readonly before?: string;
  readonly after?: string;
  /** For how long, where it is gone. */
  readonly steps?: readonly Step[];
}
