import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { WrongUse } from "@local-serving/base/commandLine/exit";
import { jsonIn, objectOr } from "@local-serving/base/faults/json";
import { keptText } from "@local-serving/base/faults/textFile";
import { PROGRAM_FOLDER } from "@local-serving/base/programFolder";
import { published, version } from "../../package.json";

/** The name of this program to npm, and of its folder in `node_modules`. */
export const PACKAGE = "local-serving";

/** Makes `serving` a command of the shell, in the folder of a stack. */
export const ONTO_PATH =
  'mkdir -p ~/.local/bin && ln -s "$PWD/node_modules/.bin/serving" ~/.local/bin/';

/**
 * What a folder pins of this program: its version once npm's registry has it (`published` in our
 * package.json). Until then it is what npm installed this program from, else its own folder.
 * `undefined` if npm kept no note of that, as of a global installation.
 */
export function ownPin(): string | undefined {
  if (published) return version;
  const [, root] = /^(.*)\/node_modules\/local-serving$/.exec(PROGRAM_FOLDER) ?? [];
  if (root === undefined) return `file:${PROGRAM_FOLDER}`;
  const from = installedFrom(root);
  if (from !== undefined && isFromRegistry(from)) return version;
  return from?.startsWith("file:") ? `file:${resolve(root, from.slice("file:".length))}` : from;
}

/** Whether a path or address ends as a tarball's does. */
export const isTarball = (spec: string): boolean => /\.(?:tgz|tar\.gz)$/.test(spec);

/**
 * What package.json has to hold for a pin that somebody typed: npm takes a path without `./` for a
 * repository. Throws `WrongUse` for a tarball that isn't there.
 */
export function givenPin(spec: string, folder: string): string {
  if (!isTarball(spec) || /^[a-z+]+:/.test(spec)) return spec;
  if (existsSync(resolve(folder, spec))) return `file:${/^[./]/.test(spec) ? spec : `./${spec}`}`;
  throw new WrongUse(`--pin ${spec}: ${resolve(folder, spec)} is not there.`);
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
  const { packages } = objectOr(jsonIn(keptText(file) ?? ""));
  const { resolved } = objectOr(objectOr(packages)[`node_modules/${PACKAGE}`]);
  return typeof resolved === "string" ? resolved : undefined;
}

/** Every registry serves a tarball below `/-/`. */
const isFromRegistry = (from: string): boolean => from.includes(`/${PACKAGE}/-/`);
