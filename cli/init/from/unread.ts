import { defined, ownValue } from "@local-serving/base/faults/defined";
import { isRecord, type JsonObject } from "@local-serving/base/faults/json";
import { asWritten, type LeftOut } from "../command/words";
import { NOT_CARRIED } from "../notCarriedOver";

/**
 * What becomes of a key: it is read (`true`), a text says why not, a map is of the keys below it, and
 * a function says why of the values that aren't as they are here anyway.
 */
type Meaning = true | string | Keys | ((value: unknown) => string | undefined);

/** What becomes of the keys of a map, or of each map of a list. */
export interface Keys {
  readonly [key: string]: Meaning;
}

type Path = readonly (string | number)[];

/** How keys that nobody reads are said. */
interface Words {
  /** What a person calls a key: "the service's `ulimits`". */
  readonly named: (key: string) => string;
  readonly lineAt: (path: Path) => number | undefined;
  /** Said of a key that `Keys` lacks. */
  readonly otherwise?: string;
}

/** More keys than anybody reads about. */
const MOST = 100;

/** Says of each key below a map that isn't read that it isn't carried over, and why. */
export function unreadIn(value: unknown, keys: Keys, words: Words): LeftOut[] {
  const found: LeftOut[] = [];
  const look = (map: unknown, meanings: Keys, path: Path): void => {
    if (Array.isArray(map))
      for (const [at, item] of map.entries()) look(item, meanings, [...path, at]);
    else if (isRecord(map)) for (const each of Object.entries(map)) judge(each, meanings, path);
  };
  const judge = ([key, inner]: [string, unknown], meanings: Keys, path: Path): void => {
    const meaning = ownValue(meanings, key) ?? ownValue(meanings, ANY) ?? NO_MEANING;
    const own = [...path, key];
    if (typeof meaning === "object") {
      look(inner, meaning, own);
      return;
    }
    const why = whyOf(meaning, inner, words);
    if (why === undefined || found.length >= MOST) return;
    const name = own.filter((step) => typeof step === "string").join(".");
    found.push({
      what: words.named(asWritten(name)),
      why,
      ...defined({ line: words.lineAt(own) }),
    });
  };
  look(value, keys, []);
  return found;
}

/** Any other key of a map whose keys are names. */
const ANY = "*";

const NO_MEANING = () => NOT_CARRIED.setting;

function whyOf(meaning: Exclude<Meaning, Keys>, value: unknown, words: Words): string | undefined {
  if (meaning === true || isEmpty(value)) return undefined;
  if (meaning === NO_MEANING) return words.otherwise ?? NOT_CARRIED.setting;
  return typeof meaning === "string" ? meaning : meaning(value);
}

/** Whether a value says nothing: `null`, `{}`, `[]`. */
const isEmpty = (value: unknown): boolean =>
  value === null || (typeof value === "object" && Object.keys(value as JsonObject).length === 0);
