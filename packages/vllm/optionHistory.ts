import { lte } from "@renovatebot/pep440";
import { optionTable } from "./argv/serverArguments";
import { type EngineData, engineData, engineVersions, newestEngineData } from "./engineData";

/** The versions of the data, oldest first, that have an option in this spelling, without its dashes. */
export const versionsWithOption = (spelling: string): readonly string[] =>
  engineVersions().filter((version) => {
    const data = engineData(version);
    return data !== undefined && optionTable(data).long.has(spelling);
  });

/** The newest version of the data that isn't newer than a release; `undefined` for an older one. */
export const engineVersionUpTo = (release: string): string | undefined =>
  engineVersions().findLast((each) => lte(each, release));

/** How a version spells what a newer one takes in this spelling, both without dashes, if it has the option. */
export function spellingIn(engine: EngineData, spelling: string): string | undefined {
  const meant = optionTable(newestEngineData()).long.get(spelling);
  const [found] = [...optionTable(engine).long].flatMap(([each, { name, takes }]) =>
    name === meant?.name && takes === meant.takes ? [each] : [],
  );
  return found;
}

/**
 * What a version takes, by its own data or else by those of the nearest release before it, or of the
 * oldest that there is; of the newest where the version isn't known.
 */
export function nearestEngineData(version: string | undefined): EngineData {
  const [release] = /^\d+(?:\.\d+)*/.exec(version ?? "") ?? [];
  if (release === undefined) return newestEngineData();
  const [oldest = ""] = engineVersions();
  return (
    engineData(release) ?? engineData(engineVersionUpTo(release) ?? oldest) ?? newestEngineData()
  );
}

/** What versions have an option, in words: `0.29.0 and newer`, `0.23.0 to 0.27.1`. */
export function versionsInWords(versions: readonly string[]): string {
  const all = engineVersions();
  const [first = "", last = ""] = [versions[0], versions.at(-1)];
  if (last === all.at(-1)) return `${first} and newer`;
  if (first === all[0]) return `${last} and older`;
  return first === last ? first : `${first} to ${last}`;
}
