import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Names of the host's timeout mechanism: coreutils' own, and as it is called on macOS. */
const NAMES = ["timeout", "gtimeout"] as const;

/** Finds the host's timeout mechanism; `undefined` when it has none. */
export type FindTimeout = () => string | undefined;

/**
 * The file of the host's timeout mechanism, looked up in PATH. A coverage command runs under it, as a second bound that
 * holds even when this program and its supervisor are both killed; so a host without one refuses coverage.
 */
export function findHostTimeout(path: string | undefined = process.env.PATH): string | undefined {
  for (const directory of (path ?? "").split(delimiter)) {
    if (directory === "") continue;
    for (const name of NAMES) {
      const file = join(directory, name);
      if (isExecutable(file)) return file;
    }
  }
  return undefined;
}

/** What a refusal says. */
export const NO_HOST_TIMEOUT =
  "this host has no timeout mechanism (`timeout`, or `gtimeout` on macOS, in PATH), so coverage can't be bounded. Install coreutils.";

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
