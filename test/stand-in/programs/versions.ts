import { readFileSync } from "node:fs";

/** Where the image keeps the versions it claims to hold. */
export const VERSIONS_FILE = "/opt/stand-in/versions.json";

/** Versions by the name of the Python package (`vllm`, `transformers`). */
export type Versions = Readonly<Record<string, string>>;

export function readVersions(): Versions {
  return JSON.parse(readFileSync(VERSIONS_FILE, "utf8")) as Versions;
}
