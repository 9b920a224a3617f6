import { join } from "node:path";
import { filledFile } from "../../faults/textFile";
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

/** The text of a file to start from. */
export const template = (name: keyof typeof TEMPLATES, prefix = DEFAULT_HARNESS.prefix): string =>
  filledFile(join(__dirname, TEMPLATES[name]), { prefix });
