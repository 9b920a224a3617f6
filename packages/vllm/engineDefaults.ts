import { join } from "node:path";
import type { Plain } from "./differences";
import { versionFolder } from "./versionFolder";

/**
 * The default of each option by its name, as vLLM's parser has it. `null` leaves the value to vLLM,
 * which works it out as it starts; an option whose default is an object is not in it.
 */
export type EngineDefaults = Readonly<Record<string, Plain | readonly Plain[]>>;

/** Apart from the rest of a version's data, which every plan reads. */
const { versionData: defaultsOf } = versionFolder(join(__dirname, "engine-data", "defaults"));

/**
 * The defaults of exactly this version, which vLLM's own parser was asked for; `undefined` if
 * nobody has recorded them.
 */
export const engineDefaults = (version: string) =>
  defaultsOf(version) as EngineDefaults | undefined;
