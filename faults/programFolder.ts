import { dirname } from "node:path";

/**
 * Folder of this program: it holds the catalogue, the policy pack and the reference, and nothing is
 * written below it. This module lies one folder below it, as a source and in a bundle.
 */
export const PROGRAM_FOLDER = dirname(__dirname);
