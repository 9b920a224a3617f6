import { type EngineData, engineData, engineVersions } from "./engineData";
import { byVersion } from "./versionFolder";

/** Every spelling of a version's options, without dashes in front of the long ones. */
export const spellingsOf = ({
  values,
  lists,
  switches,
  aliases,
}: EngineData): readonly string[] => [
  ...values,
  ...lists,
  ...Object.entries(switches).flatMap(([name, off]) => [name, ...off]),
  ...Object.keys(aliases).map((each) => each.replace(/^--/, "")),
];

/** The versions of the data, oldest first, that have an option in this spelling. */
export const versionsWithOption = (spelling: string): readonly string[] =>
  engineVersions().filter((version) => {
    const data = engineData(version);
    return data !== undefined && spellingsOf(data).includes(spelling);
  });

/** The data of a release, or of the newest before it that there is data of. */
export function engineDataUpTo(release: string): EngineData | undefined {
  const before = engineVersions().filter((each) => byVersion(each, release) <= 0);
  return engineData(before.at(-1) ?? "");
}

/** What versions have an option, in words: `0.29.0 and newer`, `0.23.0 to 0.27.1`. */
export function versionsInWords(versions: readonly string[]): string {
  const all = engineVersions();
  const [first = "", last = ""] = [versions[0], versions.at(-1)];
  if (last === all.at(-1)) return `${first} and newer`;
  if (first === all[0]) return `${last} and older`;
  return first === last ? first : `${first} to ${last}`;
}
