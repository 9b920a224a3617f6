import { inject } from "vitest";
import { type ImageOptions, makeImage, type PinnedImage } from "./makeImage";

export type { PinnedImage };

export function pinnedImage(options?: ImageOptions): Promise<PinnedImage> {
  return makeImage(inject("dockerLayer"), options);
}
