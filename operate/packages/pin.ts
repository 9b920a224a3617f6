import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { attempt } from "../../faults/defined";
import { jsonIn, objectOr } from "../../faults/json";
import { PROGRAM_FOLDER } from "../../faults/programFolder";
import { published, version } from "../../package.json";

/** The name of this program to npm, and of its folder in `node_modules`. */
export const PACKAGE = "local-serving";

/**
 * What a folder pins of this program: its version once npm's registry has it (`published` in our
 * package.json). Until then it is what npm installed this program from, else its own folder.
 */
export function ownPin(): string {
  if (published) return version;
  const [, root] = /^(.*)\/node_modules\/local-serving$/.exec(PROGRAM_FOLDER) ?? [];
  if (root === undefined) return `file:${PROGRAM_FOLDER}`;
  const from = installedFrom(root);
  if (from === undefined || isFromRegistry(from)) return version;
  return from.startsWith("file:") ? `file:${resolve(root, from.slice("file:".length))}` : from;
}

/** What a package.json names of this program; `undefined` where it names none, or is no JSON. */
export function pinIn(manifest: string): string | undefined {
  const { dependencies, devDependencies } = objectOr(jsonIn(manifest));
  const pinned = { ...objectOr(dependencies), ...objectOr(devDependencies) }[PACKAGE];
  return typeof pinned === "string" ? pinned : undefined;
}

/** What npm notes of the packages that it installed below a folder. */
function installedFrom(root: string): string | undefined {
  const file = join(root, "node_modules", ".package-lock.json");
  if (!existsSync(file)) return undefined;
  const { packages } = objectOr(jsonIn(attempt(() => readFileSync(file, "utf8")) ?? ""));
  const { resolved } = objectOr(objectOr(packages)[`node_modules/${PACKAGE}`]);
  return typeof resolved === "string" ? resolved : undefined;
}

/** Every registry serves a tarball below `/-/`. */
const isFromRegistry = (from: string): boolean => from.includes(`/${PACKAGE}/-/`);
