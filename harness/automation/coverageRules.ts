import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";
import { attempt } from "../../faults/defined";
import { type Fault, UnreadableInput } from "../../faults/fault";
import { readBy, valueAt } from "../../faults/schemaFaults";
import { readTextFile } from "../../faults/textFile";
import { type ConfigView, type FaultMaker, readYamlOrJson } from "./ruleContext";
import { type Preset, presetSchema } from "./schema";

const COVERAGE = ["verification", "coverage"];
const FLOORS = ["min_line_pct", "min_branch_pct"] as const;

/** Parsers that the specification names and refuses. */
const UNIMPLEMENTED_PARSERS = ["cobertura", "jacoco"];

/** The floors that hold after preset and block are merged: what the block says itself wins. */
export function effectiveFloors(config: ConfigView, preset: PresetReading | undefined): Preset {
  const own = Object.fromEntries(
    [...FLOORS, "max_regression_pct" as const].flatMap((key) => {
      const value = config.number([...COVERAGE, key]);
      return value === undefined ? [] : [[key, value]];
    }),
  );
  return { ...(preset !== undefined && "values" in preset ? preset.values : {}), ...own };
}

/** Faults of the coverage block that go beyond the form of its keys. */
export function coverageFaults(config: ConfigView, preset: PresetReading | undefined, at: FaultMaker): Fault[] {
  if (!config.isMap(COVERAGE)) return [];
  return [...parserFaults(config, at), ...floorFaults(config, preset, at)];
}

function parserFaults(config: ConfigView, at: FaultMaker): Fault[] {
  const parser = config.text([...COVERAGE, "parser"]);
  if (parser === undefined || !UNIMPLEMENTED_PARSERS.includes(parser)) return [];
  const message = `Parser \`${parser}\` is not implemented, and never counts as passing. Use \`istanbul\` (json-summary) or \`lcov\`.`;
  return [at.error([...COVERAGE, "parser"], "not_implemented", message)];
}

function floorFaults(config: ConfigView, preset: PresetReading | undefined, at: FaultMaker): Fault[] {
  const floors = effectiveFloors(config, preset);
  const baseline = config.text([...COVERAGE, "baseline"]);
  const faults: Fault[] = [];
  const presetPath = [...COVERAGE, "preset"];
  if (preset !== undefined && "reason" in preset) {
    const needed = [...FLOORS, ...(baseline === "admission" ? (["max_regression_pct"] as const) : [])];
    const missing = needed.filter((key) => floors[key] === undefined);
    if (missing.length > 0) {
      const message = `The preset can't be read: ${preset.reason}. Without it this block must supply ${missing.join(" and ")}.`;
      return [at.error(presetPath, "unknown_preset", message), ...regressionWithoutBaseline(config, floors, at)];
    }
    const message = `The preset can't be read: ${preset.reason}. This block supplies every floor itself, so it is not needed.`;
    faults.push(at.warning(presetPath, "unknown_preset", message));
  }
  const noFloor = "Coverage needs a floor: set min_line_pct or min_branch_pct, here or in a preset.";
  if (FLOORS.every((key) => floors[key] === undefined && !config.has([...COVERAGE, key])))
    faults.push(at.error(COVERAGE, "missing_floor", noFloor, "key"));
  const regression = [...COVERAGE, "max_regression_pct"];
  const noAllowance =
    "Baseline `admission` needs max_regression_pct (percentage points), here or in a preset: how far coverage may fall.";
  if (baseline === "admission" && floors.max_regression_pct === undefined && !config.has(regression))
    faults.push(at.error(regression, "missing_key", noAllowance));
  return [...faults, ...regressionWithoutBaseline(config, floors, at)];
}

function regressionWithoutBaseline(config: ConfigView, floors: Preset, at: FaultMaker): Fault[] {
  const own = [...COVERAGE, "max_regression_pct"];
  if (config.text([...COVERAGE, "baseline"]) !== "none" || floors.max_regression_pct === undefined) return [];
  const [path, source] = config.has(own) ? [own, ""] : [[...COVERAGE, "preset"], " (it comes from the preset)"];
  const message = `Baseline \`none\` leaves nothing to regress from, so max_regression_pct${source} must go, or the baseline be \`admission\`.`;
  return [at.error(path, "regression_without_baseline", message)];
}

/** The preset's name in a config that may be faulty. */
export function presetName(config: unknown): string | undefined {
  const name = valueAt(config, [...COVERAGE, "preset"]);
  return typeof name === "string" && name !== "" ? name : undefined;
}

/** Files that a preset's name may mean inside the presets directory, in this order. */
const FILES_OF = (name: string): string[] => [
  `${name}.json`,
  `${name}.yaml`,
  `${name}.yml`,
  join(name, "verification-preset.json"),
  name,
];

/** A preset with the digest of its file's bytes, or why it can't be read. */
export type PresetReading =
  | { readonly values: Preset; readonly file: string; readonly sha256: string }
  | { readonly reason: string };

/** Reads the preset of a name. Never throws: what is wrong comes back as the reason, since the caller fails closed. */
export function readPreset(name: string, directory: string | undefined): PresetReading {
  if (!/^[A-Za-z0-9_][A-Za-z0-9._-]*$/.test(name))
    return { reason: "a preset is a bare name of letters, digits, dots, dashes and underscores, not a path" };
  if (directory === undefined) return { reason: "no presets directory was given (--presets DIR)" };
  const file = FILES_OF(name)
    .map((candidate) => join(directory, candidate))
    // A directory of the preset's name is not the preset; what else can't be read is said when it is read.
    .find((candidate) => attempt(() => statSync(candidate))?.isDirectory() === false);
  if (file === undefined) return { reason: `${directory} has no preset of that name (${name}.json or .yaml)` };
  try {
    const document = readYamlOrJson(file);
    const { data: values, faults } = readBy(presetSchema, document.value, document);
    if (values !== undefined) return { values, file, sha256: sha256(readTextFile(file)) };
    return { reason: `${file} isn't a preset: ${faults.map(faultText).join("; ")}` };
  } catch (error) {
    if (error instanceof UnreadableInput) return { reason: error.message };
    throw error;
  }
}

/** A fault within another fault's sentence: without what the key is for, and without the full stop. */
function faultText({ path, message }: Fault): string {
  const text = message.replace(/ \([^()]*\)$/, "").replace(/\.$/, "");
  return path === "" ? text : `${path}: ${text}`;
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
