import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Fault, UnreadableInput } from "../../faults/fault";
import { schemaFaults } from "../../faults/schemaFaults";
import { readTextFile } from "../../faults/textFile";
import { readYamlOrJson } from "./reading";
import { type Preset, presetSchema } from "./verificationSchema";

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
  if (!/^[A-Za-z0-9_][A-Za-z0-9._-]*$/.test(name)) {
    return { reason: "a preset is a bare name of letters, digits, dots, dashes and underscores, not a path" };
  }
  if (directory === undefined) return { reason: "no presets directory was given (--presets DIR)" };
  const file = FILES_OF(name)
    .map((candidate) => join(directory, candidate))
    .find((candidate) => existsSync(candidate) && isReadable(candidate));
  if (file === undefined)
    return { reason: `${directory} has no preset of that name (${name}.json or .yaml)` };
  try {
    const document = readYamlOrJson(file);
    const read = presetSchema.safeParse(document.value);
    if (read.success) return { values: read.data, file, sha256: sha256(readTextFile(file)) };
    const faults = schemaFaults(presetSchema, document.value, read.error.issues, document);
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

function isReadable(file: string): boolean {
  try {
    readTextFile(file);
    return true;
  } catch (error) {
    // A directory of the preset's name is not the preset; any other failure is, and is said when it is read.
    return !(error instanceof UnreadableInput && error.reason.includes("is a directory"));
  }
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
