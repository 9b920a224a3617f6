import { optional, strictObject, z } from "zod";
import { text } from "../planned/fields";

/** What is known of the versions inside an image, and how. */
export const imageVersions = strictObject({
  vllm: optional(z.string())
    .describe("Version of vLLM inside the image (PEP 440). The floor is 0.26.0.")
    .meta({ examples: ["0.30.0"] }),
  transformers: optional(z.string())
    .describe("Version of transformers inside the image (PEP 440). The floor is 5.8.0.")
    .meta({ examples: ["5.10.4"] }),
  evidence: z
    .enum(["published", "read"])
    .describe(
      "How the versions are known. `published`: from the release's own metadata, a warning stays. `read`: read inside this image, as `serving pin` does.",
    ),
  source: text().describe("Where the versions come from: a release page, or the date of the reading."),
}).describe(
  "Versions inside the image and their evidence. A corrected record never restarts a container: it is kept beside it, joined by the digest.",
);

/** An image as it stands in the stack file; whether it is pinned well is the policies' business. */
export const imageReference = () =>
  text().describe(
    "Image as `repository[:tag]@sha256:<64 hex digits>`. The digest is required by policy: a tag alone can move. `serving pin IMAGE:TAG` prints it.",
  );
