import { knownMap, type Read, text } from "../../components/inference-server/argv/unknown";
import { engineData, newestEngineData } from "../../components/inference-server/engineData";
import { TYPE } from "../../components/planned/type";
import { type DeclaredResource, ofType } from "./container";
import { imageReference } from "./imageReference";

/** What is recorded of the packages inside an image, apart from any container that runs it. */
export interface ImageRecord {
  /** `sha256:` and 64 hex digits. */
  readonly digest: Read<string>;
  /** Package name to version. */
  readonly versions: ReadonlyMap<string, Read<string>>;
  /** `published`: said by release notes or wheel metadata; `read`: seen inside the image. */
  readonly evidence: Read<string>;
}

export function imageRecord(resource: DeclaredResource): ImageRecord {
  const entries = Object.entries(knownMap(resource.props.versions));
  const digest = text(resource.props.digest);
  return {
    digest: typeof digest === "string" && !digest.includes(":") ? `sha256:${digest}` : digest,
    versions: new Map(entries.map(([name, version]) => [name.toLowerCase(), text(version)])),
    evidence: text(resource.props.evidence),
  };
}

/** The records of each digest; of several that say the same one is kept. */
export function recordsByDigest(resources: readonly DeclaredResource[]): Map<string, ImageRecord[]> {
  const byDigest = new Map<string, ImageRecord[]>();
  const seen = new Set<string>();
  for (const record of ofType(resources, TYPE.imageRecord).map(imageRecord)) {
    const { digest, versions, evidence } = record;
    const says = [digest, ...versions.entries(), evidence].flat().map(String).join("\n");
    if (typeof digest !== "string" || seen.has(says)) continue;
    seen.add(says);
    byDigest.set(digest, [...(byDigest.get(digest) ?? []), record]);
  }
  return byDigest;
}

/** vLLM's own image. What other people build from it may take more. */
const OFFICIAL = /^((index\.)?docker\.io\/)?vllm\/vllm-openai$/;

/**
 * What an image's vLLM takes, as far as it can be told: by what is recorded of the image's digest, else by its tag
 * (`v0.30.0-aarch64`); else the newest.
 */
export function engineOf(image: unknown, records: readonly ImageRecord[] = []) {
  const reference = typeof image === "string" ? imageReference(image) : undefined;
  const recorded = records.map((record) => record.versions.get("vllm"));
  const tagged = /^v?(\d+\.\d+\.\d+)(-[\w-]+)?$/.exec(reference?.tag ?? "")?.[1];
  const version = recorded.find((each) => typeof each === "string") ?? tagged;
  const data = typeof version === "string" ? engineData(version.replace(/\+.*$/, "")) : undefined;
  return {
    data: data ?? newestEngineData(),
    /** vLLM's own image in exactly this version; else the data is the nearest that there is. */
    exact: data !== undefined && OFFICIAL.test(reference?.repository ?? ""),
  };
}
