import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";
import { attempt, defined } from "@local-serving/base/faults/defined";
import { type Fault, type FaultMaker, UnreadableInput } from "@local-serving/base/faults/fault";
import { readBy } from "@local-serving/base/faults/schemaFaults";
import { readTextFile } from "@local-serving/base/faults/textFile";
import { type ConfigView, readYamlOrJson } from "./ruleContext";
import { type Preset, presetSchema } from "./schema";

const COVERAGE = ["verification", "coverage"];
const FLOORS = ["min_line_pct", "min_branch_pct"] as const;

/** Parsers that the specification names and refuses. */
const UNIMPLEMENTED_PARSERS = ["cobertura", "jacoco"];

const MAX_REGRESSION = "max_regression_pct" as const;

const at = (key: string): string[] => [...COVERAGE, key];

/** The floors that hold after preset and block are merged: what the block says itself wins. */
export function effectiveFloors(config: ConfigView, preset: PresetReading | undefined): Preset {
  const own = Object.fromEntries(
    [...FLOORS, MAX_REGRESSION].map((key) => [key, config.number(at(key))]),
  );
  return { ...preset?.values, ...defined(own) };
}

/** Faults of the coverage block that go beyond the form of its keys. */
export function coverageFaults(
  config: ConfigView,
  preset: PresetReading | undefined,
  make: FaultMaker,
): Fault[] {
  if (!config.isMap(COVERAGE)) return [];
  const faults: Fault[] = [];
  const parser = config.text(at("parser"));
  if (parser !== undefined && UNIMPLEMENTED_PARSERS.includes(parser))
    faults.push(
      make.error(
        at("parser"),
        "not_implemented",
        `Parser \`${parser}\` is not implemented, and never counts as passing. Use \`istanbul\` (json-summary) or \`lcov\`.`,
      ),
    );
  return [...faults, ...floorFaults(config, preset, make)];
}

/**
 * Finds floors that neither the preset nor the block supplies, and values that contradict the
 * baseline.
 */
function floorFaults(
  config: ConfigView,
  preset: PresetReading | undefined,
  make: FaultMaker,
): Fault[] {
  const faults: Fault[] = [];
  const floors = effectiveFloors(config, preset);
  const baseline = config.text(at("baseline"));
  const needed = baseline === "admission" ? [...FLOORS, MAX_REGRESSION] : FLOORS;
  const missing =
    preset?.reason === undefined ? [] : needed.filter((key) => floors[key] === undefined);
  if (preset?.reason !== undefined) {
    const [severity, so] =
      missing.length > 0
        ? (["error", `Without it this block must supply ${missing.join(" and ")}.`] as const)
        : (["warning", "This block supplies every floor itself, so it is not needed."] as const);
    faults.push(
      make[severity](
        at("preset"),
        "unknown_preset",
        `The preset can't be read: ${preset.reason}. ${so}`,
      ),
    );
  }
  const lacks = (key: keyof Preset) =>
    missing.length === 0 && floors[key] === undefined && !config.has(at(key));
  if (FLOORS.every(lacks))
    faults.push(
      make.error(
        COVERAGE,
        "missing_floor",
        "Coverage needs a floor: set min_line_pct or min_branch_pct, here or in a preset.",
        "key",
      ),
    );
  if (baseline === "admission" && lacks(MAX_REGRESSION))
    faults.push(
      make.error(
        at(MAX_REGRESSION),
        "missing_key",
        "Baseline `admission` needs max_regression_pct (percentage points), here or in a preset: how far coverage may fall.",
      ),
    );
  if (baseline === "none" && floors.max_regression_pct !== undefined) {
    const [path, source] = config.has(at(MAX_REGRESSION))
      ? [at(MAX_REGRESSION), ""]
      : [at("preset"), " (it comes from the preset)"];
    const message = `Baseline \`none\` leaves nothing to compare with: remove max_regression_pct${source}, or set the baseline to \`admission\`.`;
    faults.push(make.error(path, "regression_without_baseline", message));
  }
  return faults;
}

/** What may follow a preset's name in the presets directory, in this order. */
const ENDINGS = [".json", ".yaml", ".yml", "/verification-preset.json", ""];

/** A preset with the digest of its file's bytes, or why it can't be read. */
export type PresetReading =
  | { readonly values: Preset; readonly sha256: string; readonly reason?: undefined }
  | { readonly reason: string; readonly values?: undefined; readonly sha256?: undefined };

/**
 * Reads the preset that a config names. Never throws: what is wrong is the reason, since the caller
 * fails closed.
 */
export function readPreset(
  config: ConfigView,
  directory: string | undefined,
): PresetReading | undefined {
  const name = config.text(at("preset"));
  if (name === undefined) return undefined;
  if (!/^[A-Za-z0-9_][A-Za-z0-9._-]*$/.test(name))
    return {
      reason:
        "a preset is a bare name of letters, digits, dots, dashes and underscores, not a path",
    };
  if (directory === undefined) return { reason: "no presets directory was given (--presets DIR)" };
  const file = ENDINGS.map((ending) => join(directory, `${name}${ending}`))
    // A directory with the preset's name is not the preset. Any other unreadable file is reported
    // when it is read.
    .find((candidate) => attempt(() => statSync(candidate))?.isDirectory() === false);
  if (file === undefined)
    return { reason: `${directory} has no preset of that name (${name}.json or .yaml)` };
  try {
    const document = readYamlOrJson(file);
    const { data: values, faults } = readBy(presetSchema, document.value, document);
    if (values !== undefined) return { values, sha256: sha256(readTextFile(file)) };
    return { reason: `${file} isn't a preset: ${faults.map(faultText).join("; ")}` };
  } catch (error) {
    if (error instanceof UnreadableInput) return { reason: error.message };
    throw error;
  }
}

/**
 * A fault within another fault's sentence: without what the key is for, and without the full stop.
 */
function faultText({ path, message }: Fault): string {
  const text = message.replace(/ \([^()]*\)$/, "").replace(/\.$/, "");
  return path === "" ? text : `${path}: ${text}`;
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
