import { join } from "node:path";
import { readTextFile } from "../../faults/textFile";

/** A commented file to start from. It is valid as it is, and so is all of it uncommented; each comment says what a key does. */
export function template(name: "automation-template.yaml" | "providers-template.toml"): string {
  return readTextFile(join(__dirname, name));
}
