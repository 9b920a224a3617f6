import { dirname, join, relative, resolve } from "node:path";
import { filledFile } from "@local-serving/base/faults/textFile";
import { PROGRAM_FOLDER } from "@local-serving/base/programFolder";
import { DEFAULT_HARNESS } from "../harness";

/**
 * Files to start from. Each is valid as it is, and so is all of it uncommented; comments say what a
 * key does.
 */
const TEMPLATES = {
  automation: "automation-template.yaml",
  providers: "providers-template.toml",
  analytics: "analytics-template.json",
} as const;

/** Where a folder that has this program installed finds its reference. */
const INSTALLED = "node_modules/local-serving/docs/reference";

/** The text of a file to start from; `reference` is the folder of the reference, for its reader. */
export const template = (
  name: keyof typeof TEMPLATES,
  prefix = DEFAULT_HARNESS.prefix,
  reference = INSTALLED,
): string => filledFile(join(__dirname, TEMPLATES[name]), { prefix, reference });

/** Folder of the reference as a file names it: by a relative path where both are below one project. */
export function referenceFor(file: string, project = process.cwd()): string {
  const reference = join(PROGRAM_FOLDER, "docs/reference");
  const isBelow = (path: string) => !relative(project, path).startsWith("..");
  return isBelow(reference) && isBelow(resolve(file))
    ? relative(dirname(resolve(file)), reference)
    : reference;
}
