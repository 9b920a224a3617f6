import { inject } from "vitest";
import { type ImageOptions, makeImage, type PinnedImage } from "./makeImage";

export type { PinnedImage };

/** An image that holds the stand-in server, in the registry of this test run. */
export function pinnedImage(options?: ImageOptions): Promise<PinnedImage> {
  return makeImage(inject("dockerLayer"), options);
}
