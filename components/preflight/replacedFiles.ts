import { lstat } from "node:fs/promises";
import { posix } from "node:path";
import type { MachinePlan } from "../plan/types";
import type { PreflightFinding } from "./types";

/** Beside each file that we write lies the record of what was there before (see host/hostFile.sh). */
const recordOf = (path: string) => posix.join(posix.dirname(path), `.${posix.basename(path)}.local-serving`);

/** What an operator misses while a file of theirs is replaced, by the file's role. */
const MISSED: Readonly<Partial<Record<MachinePlan["files"][number]["role"], string>>> = {
  "harness-providers": " Meanwhile the harness knows no reviewer but those of the stack file.",
};

/**
 * Files that lie where the plan has one and that are not ours. Nothing is lost, but whatever they set does not hold any
 * longer: so it is said at the preview, when `up` can still be left undone. Only reads.
 */
export async function replacedFiles({ files }: MachinePlan): Promise<PreflightFinding[]> {
  const findings = await Promise.all(
    files.map(async ({ role, path }): Promise<PreflightFinding[]> => {
      const found = await lstat(path).catch(() => undefined);
      // What isn't a regular file is refused when it is written.
      if (!found?.isFile() || (await lstat(recordOf(path)).catch(() => undefined)) !== undefined) return [];
      const message = `${path} is there and isn't ours. \`up\` replaces it as a whole, keeps it as ${recordOf(path)}/original, and puts it back when ours goes.${MISSED[role] ?? ""}`;
      return [{ verdict: "warned", message }];
    }),
  );
  return findings.flat();
}
