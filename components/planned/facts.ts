export interface LedgerLine {
  readonly name: string;
  readonly gib: number;
  readonly basis: "setting" | "measured" | "default";
  readonly source: string;
}

/** Something that will work, and that an operator should know before it runs. */
export interface Warning {
  readonly machine: string;
  readonly code: string;
  readonly message: string;
  /** Set where it is only good to know: nothing is at risk. */
  readonly note?: true;
}

/** What is only good to know, by the codes of warnings. */
export const NOTES: ReadonlySet<string> = new Set([
  ...["unproven", "inert-variable", "same-parser", "kv-queue", "window-raised", "measurement-stale"],
  ...["simple-server-by-hand", "harness-no-embedding", "harness-no-embedding-model"],
  "image-cache",
]);

/** Versions inside an image, and how they are known. */
export interface ImageFacts {
  readonly image: string;
  /** `sha256:<64 hex>`, or "" where the image carries none. */
  readonly digest: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly evidence: "published" | "read" | "none";
  readonly source: string;
  /** The digest that the record itself names, "" where it names none. Earlier versions left it out. */
  readonly recordedOf?: string;
  /** Digest of the machine's own image, inside of which the versions were read. */
  readonly platformDigest?: string;
}

/** Instance A as it is declared. */
export interface HostInstanceFacts {
  readonly port: number;
  readonly gpuMemoryUtilization: number;
  readonly maxModelLen?: number;
  readonly model?: string;
  readonly weightsGB?: number;
}
