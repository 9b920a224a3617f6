import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { explainWriting, WrongUse } from "../../commandLine/exit";
import { readTextFile } from "../../faults/textFile";
import { replaceFile } from "../../harness/files/replaceFile";
import { type BundleFile, NOTE, NOTE_HEAD } from "./bundle";

/** Replaces a folder by a bundle: as a whole, or not at all. Throws `WrongUse`. */
export function writeBundle(folder: string, files: readonly BundleFile[]): void {
  try {
    const target = existsSync(folder) ? realpathSync(folder) : resolve(folder);
    mkdirSync(dirname(target), { recursive: true });
    const foreign = existsSync(target) ? foreignIn(target) : undefined;
    const refusal = "is from no export, which replaces its whole folder: name an empty one.";
    if (foreign !== undefined) throw new WrongUse(`${join(folder, foreign)} ${refusal}`);
    const work = mkdtempSync(join(dirname(target), `.${basename(target)}.`));
    const [fresh, old] = [join(work, "new"), join(work, "old")];
    try {
      for (const { path, mode, text } of files)
        replaceFile(join(fresh, path), text, { newFileMode: Number.parseInt(mode, 8) });
      if (existsSync(target)) renameSync(target, old);
      renameSync(fresh, target);
    } finally {
      if (existsSync(old) && !existsSync(target)) renameSync(old, target);
      rmSync(work, { recursive: true, force: true });
    }
  } catch (error) {
    explainWriting(folder, error);
  }
}

/** Something in a folder that no export wrote: an export's note names all of its files. */
function foreignIn(folder: string): string | undefined {
  const found = readdirSync(folder);
  const note = found.includes(NOTE) ? readTextFile(join(folder, NOTE)) : "";
  // Only a bundle is searched as a whole: any other folder may be a home.
  if (!note.startsWith(NOTE_HEAD)) return found[0];
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).find(
    (path) => path !== NOTE && !note.includes(`\`${path}\``) && !lstatSync(join(folder, path)).isDirectory(),
  );
}
