import { mkdtempSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A new empty folder, by its real path. The run removes it with everything else at its end. */
export function temporaryFolder(name = "folder-"): string {
  return realpathSync(mkdtempSync(join(tmpdir(), name)));
}
