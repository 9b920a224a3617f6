import { createHash } from "node:crypto";
import type { PinnedImage } from "../../docker/makeImage";

const INDEX = "application/vnd.oci.image.index.v1+json";
const MANIFEST = [
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.v2+json",
];

/** Pushes an index that has an image for another processor than this machine's alone. */
export async function onlyForAnotherProcessor(image: PinnedImage): Promise<PinnedImage> {
  const [, registry = "", repository = "", tag = ""] =
    /^([^/]+)\/(.+):([^:]+)$/.exec(image.tag) ?? [];
  const manifests = `http://${registry}/v2/${repository}/manifests`;
  const manifest = await fetch(`${manifests}/${image.digest}`, {
    headers: { accept: MANIFEST.join(", ") },
  });
  const bytes = Buffer.from(await manifest.arrayBuffer());
  const architecture = process.arch === "arm64" ? "amd64" : "arm64";
  const index = JSON.stringify({
    schemaVersion: 2,
    mediaType: INDEX,
    manifests: [
      {
        mediaType: manifest.headers.get("content-type"),
        digest: image.digest,
        size: bytes.length,
        platform: { os: "linux", architecture },
      },
    ],
  });
  const put = await fetch(`${manifests}/${tag}`, {
    method: "PUT",
    headers: { "content-type": INDEX },
    body: index,
  });
  if (!put.ok) throw new Error(`the registry answered ${put.status}: ${await put.text()}`);
  const digest = `sha256:${createHash("sha256").update(index).digest("hex")}`;
  return { tag: image.tag, digest, reference: `${image.tag}@${digest}` };
}
