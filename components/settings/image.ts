import { z } from "zod";

/** What is known of the versions inside an image, and how. */
export const imageVersions = z
  .strictObject({
    vllm: z
      .string()
      .optional()
      .describe("Version of vLLM inside the image (PEP 440). The floor is 0.26.0.")
      .meta({ examples: ["0.30.0"] }),
    transformers: z
      .string()
      .optional()
      .describe("Version of transformers inside the image (PEP 440). The floor is 5.8.0.")
      .meta({ examples: ["5.10.4"] }),
    evidence: z
      .enum(["published", "read"])
      .describe(
        "How the versions are known. `published`: from the release's own metadata, a warning stays. `read`: read inside this image, as `serving pin` does.",
      ),
    source: z
      .string()
      .min(1)
      .describe("Where the versions come from: a release page, or the date of the reading."),
  })
  .describe(
    "Versions inside the image and their evidence. A corrected record never restarts a container: it is kept beside it, joined by the digest.",
  );

/** An image as it stands in the stack file; whether it is pinned well is the policies' business. */
export const imageReference = () =>
  z
    .string()
    .min(1)
    .describe(
      "Image as `repository[:tag]@sha256:<64 hex digits>`. The digest is required by policy: a tag alone can move. `serving pin IMAGE:TAG` prints it.",
    );
