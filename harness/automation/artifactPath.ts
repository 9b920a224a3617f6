import { lstatSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, normalize, sep } from "node:path";

/** What is wrong with an artifact's path as text, or `undefined`: it must be a relative path to a file inside its root. */
export function artifactPathFault(path: string): string | undefined {
  if (path.includes("\0")) return "must not hold a NUL character";
  if (isAbsolute(path)) return "must be relative to the project, not absolute";
  const plain = normalize(path);
  if (plain === ".." || plain.startsWith(`..${sep}`))
    return "must stay inside the project; its `..` leads out";
  if (plain === "." || path.endsWith("/")) return "must name a file, not a directory";
  if (plain.split(sep)[0] === ".git") return "must not lie in .git, since it is deleted before every run";
  return undefined;
}

/**
 * Where an artifact really lies under a root, with the symlinks of every existing ancestor resolved.
 * `fault` says why it may be neither deleted nor read: it leads out of the root, or is a link itself.
 */
export function containedArtifact(root: string, path: string): { file: string } | { fault: string } {
  const fault = artifactPathFault(path);
  if (fault !== undefined) return { fault };
  let realRoot: string;
  try {
    realRoot = realpathSync(root);
  } catch {
    return { fault: "has no project directory around it" };
  }
  const file = join(realRoot, normalize(path));
  let ancestor = dirname(file);
  while (lstatSync(ancestor, { throwIfNoEntry: false }) === undefined) ancestor = dirname(ancestor);
  let realAncestor: string;
  try {
    realAncestor = realpathSync(ancestor);
  } catch {
    return { fault: "runs through a symlink that leads nowhere" };
  }
  if (!isInside(realRoot, realAncestor)) return { fault: "leads out of the project through a symlink" };
  if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink()) {
    return { fault: "is a symlink itself; it must be a regular file" };
  }
  return { file };
}

function isInside(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}
