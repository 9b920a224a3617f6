import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ReferenceFile } from "./document";

/** The files that are missing from a folder or hold something else than they should. */
export function staleFiles(folder: string, files: readonly ReferenceFile[]): ReferenceFile[] {
  return files.filter(({ name, text }) => present(join(folder, name)) !== text);
}

function present(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
