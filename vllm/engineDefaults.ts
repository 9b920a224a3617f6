import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

type Plain = string | number | boolean | null;

/**
 * The default of each option by its name, as vLLM's parser has it. `null` leaves the value to vLLM,
 * which works it out as it starts; an option whose default is an object is not in it.
 */
export type EngineDefaults = Readonly<Record<string, Plain | readonly Plain[]>>;

/** Apart from the rest of a version's data, which every plan reads. */
const FOLDER = join(__dirname, "engine-data", "defaults");

/** The defaults of exactly this version, or `undefined` if nobody has recorded them. */
export function engineDefaults(version: string): EngineDefaults | undefined {
  const file = join(FOLDER, `${version}.json`);
  if (!existsSync(file)) return undefined;
  // `npm run engine-data` made the file, and a test holds it against vLLM's own parser.
  return JSON.parse(readFileSync(file, "utf8")) as EngineDefaults;
}
