import { type DeclaredResource, ofType, TYPE } from "./declaredResource";
import { map, type Read, text, UNKNOWN } from "./unknown";

/** What is recorded of the packages inside an image, apart from any container that runs it. */
export interface ImageRecord {
  readonly resource: DeclaredResource;
  /** `sha256:` and 64 hex digits. */
  readonly digest: Read<string>;
  /** Package name to version. */
  readonly versions: ReadonlyMap<string, Read<string>>;
  /** `published`: said by release notes or wheel metadata; `read`: seen inside the image. */
  readonly evidence: Read<string>;
}

export function imageRecord(resource: DeclaredResource): ImageRecord {
  const versions = map(resource.props.versions);
  const entries = versions === undefined || versions === UNKNOWN ? [] : Object.entries(versions);
  const digest = text(resource.props.digest);
  return {
    resource,
    digest: typeof digest === "string" && !digest.includes(":") ? `sha256:${digest}` : digest,
    versions: new Map(entries.map(([name, version]) => [name.toLowerCase(), text(version)])),
    evidence: text(resource.props.evidence),
  };
}

/** All records of one digest. */
export function recordsOf(resources: readonly DeclaredResource[], digest: string): ImageRecord[] {
  return ofType(resources, TYPE.imageRecord)
    .map(imageRecord)
    .filter((record) => record.digest === digest);
}
