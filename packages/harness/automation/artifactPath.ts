import { lstatSync, realpathSync, type Stats, statSync } from "node:fs";
import { dirname, isAbsolute, join, normalize, relative, sep } from "node:path";
import { attempt } from "@local-serving/base/faults/defined";
import type { Fault, FaultMaker } from "@local-serving/base/faults/fault";
import type { ConfigView } from "./ruleContext";

/**
 * What is wrong with an artifact's path as text: it must be a relative path to a file inside its
 * root.
 */
function artifactPathFault(path: string): string | undefined {
  if (path.includes("\0")) return "must not hold a NUL character";
  if (isAbsolute(path)) return "must be relative to the project, not absolute";
  const plain = normalize(path);
  if (plain === ".." || plain.startsWith(`..${sep}`))
    return "must stay inside the project; its `..` leads out";
  if (plain === "." || path.endsWith("/")) return "must name a file, not a directory";
  if (plain.split(sep)[0] === ".git")
    return "must not lie in .git, since it is deleted before every run";
  return undefined;
}

/**
 * Where an artifact really lies under a root, with the symlinks of every existing ancestor
 * resolved. `fault` says why it may be neither deleted nor read: it leads out of the root, or is a
 * link or directory itself.
 */
export function containedArtifact(
  root: string,
  path: string,
): { file: string } | { fault: string } {
  const fault = artifactPathFault(path);
  if (fault !== undefined) return { fault };
  const realRoot = attempt(() => realpathSync(root));
  if (realRoot === undefined) return { fault: "has no project directory around it" };
  const file = join(realRoot, normalize(path));
  try {
    const fault = linkFault(realRoot, file);
    return fault === undefined ? { file } : { fault };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    return { fault: `can't be looked at (${code ?? String(error)})` };
  }
}

/**
 * What is wrong with what already lies at a path inside a root, or on the way to it. Throws the
 * system's errors.
 */
function linkFault(root: string, file: string): string | undefined {
  let ancestor = dirname(file);
  while (entryAt(ancestor) === undefined) ancestor = dirname(ancestor);
  const real = attempt(() => realpathSync(ancestor));
  if (real === undefined) return "runs through a symlink that leads nowhere";
  if (!isInside(root, real)) return "leads out of the project through a symlink";
  if (!statSync(real).isDirectory())
    return `runs through \`${relative(root, ancestor)}\`, which isn't a directory`;
  const entry = entryAt(file);
  if (entry?.isSymbolicLink()) return "is a symlink itself; it must be a regular file";
  if (entry?.isDirectory()) return "is a directory; it must be a file";
  return undefined;
}

/** What is at a path; `undefined` for nothing, also when a file is in the place of a directory. */
function entryAt(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOTDIR") return undefined;
    throw error;
  }
}

const isInside = (root: string, path: string) =>
  path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);

/** Every key that names a file which a gate deletes and reads. */
const ARTIFACTS = [
  ["verification", "coverage", "artifact"],
  ["verification", "visual", "artifact"],
] as const;

/**
 * Faults of artifact paths: they must stay inside the project, as text and, where the project is
 * known, with its symlinks resolved as they are now. The gates resolve them again before they
 * delete and after the command has run.
 */
export function artifactFaults(
  config: ConfigView,
  project: string | undefined,
  at: FaultMaker,
): Fault[] {
  return ARTIFACTS.flatMap((path) => {
    const artifact = config.text(path);
    if (artifact === undefined) return [];
    const found = project === undefined ? undefined : containedArtifact(project, artifact);
    const fault =
      artifactPathFault(artifact) ??
      (found !== undefined && "fault" in found ? found.fault : undefined);
    return fault === undefined
      ? []
      : [at.error(path, "not_contained", `The artifact's path ${fault}.`)];
  });
}
