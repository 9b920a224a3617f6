import { FakeDocker } from "../fakeDocker";

/** What an image is whose tag alone is pulled. */
export const PULLED = `sha256:${"d".repeat(64)}`;
/** This machine's own image within it. */
export const PLATFORM = `sha256:${"e".repeat(64)}`;

/** A Docker that pulls any image, and finds these versions inside. */
export function pullingDocker(
  versions: Readonly<Record<string, string>>,
  repository = "vllm/vllm-openai",
): FakeDocker {
  const manifests = [{ digest: PLATFORM, platform: { os: "linux", architecture: "arm64" } }];
  return new FakeDocker({
    pull: { out: "" },
    "image inspect": { out: JSON.stringify([`${repository}@${PULLED}`]) },
    "manifest inspect": { out: JSON.stringify({ manifests }) },
    version: { out: "linux/arm64\n" },
    "run --rm": { out: JSON.stringify(versions) },
  });
}
