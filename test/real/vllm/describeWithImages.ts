import { describe } from "vitest";
import { title } from "../programs";
import { whyNoImages } from "./whyNoImages";

/** A group of tests that make and run images of an installed vLLM; its name says why it is skipped. */
export function describeWithImages(
  name: string,
  { neededGB, limitSeconds }: { readonly neededGB: number; readonly limitSeconds: number },
  tests: () => void,
): void {
  const missing = whyNoImages(neededGB);
  describe.skipIf(missing !== undefined)(
    title(name, missing === undefined ? { path: "" } : { missing }),
    { timeout: limitSeconds * 1000 },
    tests,
  );
}
