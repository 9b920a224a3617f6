import { IMAGE_DIGEST } from "@local-serving/machines/docker/imageReference";
import * as z from "zod";
import { optional, strictObject } from "zod";
import { nonEmptyText, required, textMatching } from "../planned/fields";

const digest = () =>
  textMatching(IMAGE_DIGEST, "Expected `sha256:` and 64 hex digits in small letters");

/** What is known of the versions inside an image, and how. */
export const imageVersions = strictObject({
  vllm: optional(z.string())
    .describe("Version of vLLM inside the image (PEP 440). The floor is 0.26.0.")
    .meta({ examples: ["0.30.0"] }),
  transformers: optional(z.string())
    .describe("Version of transformers inside the image (PEP 440). The floor is 5.8.0.")
    .meta({ examples: ["5.10.4"] }),
  evidence: required(
    z
      .enum(["published", "read"])
      .describe(
        "How the versions are known. `published`: from the release's own metadata; a warning stays. `read`: read inside this image, as `serving pin` does.",
      ),
    "Write `published` if a release page names the versions; `serving pin IMAGE:TAG --write` reads them inside the image, and writes `read`.",
  ),
  digest: digest()
    .optional()
    .describe(
      "Digest of the image with these versions, as `serving pin --write` writes it. If `image` has another digest, the record no longer counts. Left out: the record counts if `image` has the digest of a known release, or a tag that names the same version.",
    )
    .meta({
      examples: ["sha256:8a69ffad015f138d7170c4ddc429e230a3bc1c1719f67e14324749df200a4b90"],
    }),
  platformDigest: digest()
    .optional()
    .describe(
      "Digest of the image for the machine's platform, within the multi-platform `digest`: the one that `serving pin` read.",
    ),
  source: required(
    nonEmptyText().describe(
      "Where the versions come from: a release page, or the date of the reading.",
    ),
    "Write where the versions come from: the address of a release page, or the date of the reading.",
  ),
}).describe(
  "Versions inside the image and their evidence. Correcting the record never restarts a container: it is no part of the container, and the digest links the two.",
);
