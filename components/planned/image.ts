/** Versions inside an image, and how they are known. */
export interface ImageFacts {
  readonly image: string;
  /** `sha256:<64 hex>`, or "" where the image carries none. */
  readonly digest: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly evidence: "published" | "read" | "none";
  readonly source: string;
}
