import { existsSync } from "node:fs";
import { valueBy } from "@local-serving/base/faults/schemaFaults";
import { readYamlFile } from "@local-serving/base/faults/yamlDocument";
import * as z from "zod";
import type { Levels } from "./judge";
import { rules } from "./rules";

/**
 * Policy configuration of a project, in the engine's own format; it need not exist. Path from the
 * project's root.
 */
export const LEVELS_FILE = "policies/levels.json";

/**
 * Variable that names another file, so that the program reads the configuration which the engine
 * was given.
 */
export const LEVELS_VARIABLE = "LOCAL_SERVING_POLICY_CONFIG";

/**
 * Set to the project's folder by whoever runs the engine with our pack: the pack says what it
 * finds, and the program need not say it again.
 */
export const PACK_VARIABLE = "LOCAL_SERVING_POLICY_PACK";

const level = z.enum(["mandatory", "advisory", "disabled"]);
const entry = z.union([level, z.strictObject({ enforcementLevel: level })]).optional();
/** What a level can be set of. */
export const LEVEL_NAMES: readonly string[] = [
  "all",
  ...rules.flatMap((rule) => (rule.advises ? [rule.name, `${rule.name}-advice`] : [rule.name])),
];
const levelsFile = z.strictObject(Object.fromEntries(LEVEL_NAMES.map((name) => [name, entry])));

/**
 * Levels that the operator has set, by rule name; none where the file doesn't exist. Throws
 * `UnreadableInput` or `FaultyInput` with every fault.
 */
export function readLevels(file: string): Levels {
  if (!existsSync(file)) return {};
  const levels = valueBy(levelsFile, file, readYamlFile(file));
  return Object.fromEntries(
    Object.entries(levels).flatMap(([name, given]) =>
      given === undefined
        ? []
        : [[name, typeof given === "string" ? given : given.enforcementLevel]],
    ),
  );
}
