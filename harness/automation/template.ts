import { join } from "node:path";
import { readTextFile } from "../../faults/textFile";

/**
 * A commented automation config to start from. It is valid as it is: everything that needs a decision is commented
 * out, and each comment says what a key does.
 */
export const AUTOMATION_TEMPLATE = readTextFile(join(__dirname, "automation-template.yaml"));
