import { dirname } from "node:path";

/**
 * Folder of this program: it holds the catalogue, the policy pack and the reference, and nothing is
 * written below it. This module lies one folder below it, as a source and in a bundle.
 */
export const PROGRAM_FOLDER = dirname(__dirname);

/**
 * How a folder's own copy is started. With `--no`, npx installs nothing: npm's registry has a
 * package of the name `serving` that is somebody else's. Without `--`, npx would take the name for
 * the value of `--no`, and options such as `--help` for its own.
 */
export const NPX = "npx --no -- serving";
