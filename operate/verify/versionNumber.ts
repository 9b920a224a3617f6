import { valid } from "@renovatebot/pep440";

/** No release of anything has a version of more characters; a pattern is not let loose on megabytes. */
const LONGEST_VERSION = 64;

/** Whether a server's word for its version is one. */
export function isVersion(text: string): boolean {
  return text.length <= LONGEST_VERSION && valid(text) !== null;
}
