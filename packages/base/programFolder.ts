import { resolve } from "node:path";

/**
 * Folder of this program: it holds the catalogue, the policy pack and the reference, and nothing is
 * written below it. A bundle lies one folder below it, and this source two.
 */
export const PROGRAM_FOLDER = resolve(__dirname, __filename.endsWith(".cjs") ? ".." : "../..");

/**
 * How a folder's own copy is started. With `--no`, npx installs nothing: npm's registry has a
 * package of the name `serving` that is somebody else's. Without `--`, npx would take the name for
 * the value of `--no`, and options such as `--help` for its own.
 */
export const NPX = "npx --no -- serving";
