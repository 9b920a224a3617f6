import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { applied, type Value, type VersionDifference } from "./differences";

/** What a version's file holds: how its data differ from those of the version that it is `after`. */
export interface VersionFile extends VersionDifference {
  /** Without it the data are whole: the oldest version's here, and every version's in a build. */
  readonly after?: string | undefined;
}

/** The data of each version that has a file in a folder. */
export function versionFolder(folder: string) {
  const known = new Map<string, Value | undefined>();
  let sorted: readonly string[] | undefined;

  /** Every version that there is data of, oldest first. */
  const versions = (): readonly string[] => {
    sorted ??= readdirSync(folder)
      .filter((file) => file.endsWith(".json"))
      .map((file) => file.slice(0, -".json".length))
      .sort(byVersion);
    return sorted;
  };

  /** The data of exactly this version. */
  const versionData = (version: string): Value | undefined => {
    if (known.has(version) || !versions().includes(version)) return known.get(version);
    // `npm run engine-data` writes the files, and a test holds each against the same function.
    const file = JSON.parse(readFileSync(join(folder, `${version}.json`), "utf8")) as VersionFile;
    const before = file.after === undefined ? undefined : versionData(file.after);
    const data = applied(before, file);
    known.set(version, data);
    return data;
  };

  return { versions, versionData };
}

/** Number by number; the language's own comparison of texts takes 5 ms to get ready. */
export function byVersion(a: string, b: string): number {
  const [first, second] = [a, b].map((version) => version.split(".").map(Number));
  const at = first?.findIndex((part, index) => part !== second?.[index]) ?? -1;
  return (first?.[at] ?? 0) - (second?.[at] ?? 0);
}
