import { constants, copyFileSync, existsSync, readFileSync, statSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { explainWriting } from "@local-serving/base/commandLine/exit";
import { shellWord, shellWords } from "@local-serving/base/faults/shellWords";
import { keptText } from "@local-serving/base/faults/textFile";
import { isTarball, PACKAGE, pinIn } from "../packages/pin";

/** What package.json is to pin so that CI can install it, and what stands against that. */
interface CarriedPin {
  readonly pin?: string;
  readonly made: readonly string[];
  /** Why CI can't install it, and what to do. */
  readonly mend: readonly string[];
}

/**
 * Puts the tarball that a new package.json would pin beside it: CI has only what the repository
 * has. What an existing package.json pins stays.
 */
export function carryPin(folder: string, pin: string | undefined): CarriedPin {
  const pinned = pin ?? pinIn(keptText(join(folder, "package.json")) ?? "");
  const kept = pin === undefined ? {} : { pin };
  const path = pinned === undefined ? undefined : onlyHere(pinned, folder);
  if (path === undefined) return { ...kept, made: [], mend: [] };
  if (!isTarball(path) || !existsSync(path) || statSync(path).isDirectory())
    return { ...kept, made: [], mend: [fromFolder(path)] };
  const name = basename(path);
  if (pin === undefined) return { made: [], mend: [fromElsewhere(path, folder)] };
  const made = carry(path, join(folder, name));
  return made === undefined
    ? { ...kept, made: [], mend: [isAnother(name, path)] }
    : { pin: `file:./${name}`, made: made ? [name] : [], mend: [] };
}

/** The path of a pin that only this computer has; `undefined` where others can get it. */
function onlyHere(pin: string, folder: string): string | undefined {
  if (!pin.startsWith("file:")) return undefined;
  const path = resolve(folder, pin.slice("file:".length));
  return relative(folder, path).startsWith("..") ? path : undefined;
}

/** Whether a file was copied; `undefined` where another one has its name. */
function carry(from: string, to: string): boolean | undefined {
  if (existsSync(to)) return readFileSync(from).equals(readFileSync(to)) ? false : undefined;
  try {
    copyFileSync(from, to, constants.COPYFILE_EXCL);
  } catch (error) {
    explainWriting(to, error);
  }
  return true;
}

const CANT = `CI can't install ${PACKAGE}`;

const fromFolder = (path: string): string =>
  `${CANT} from ${path}, which only this computer has. Make a tarball of it (\`npm pack\` there), and pin that here: \`npm install ./TARBALL\`.`;

const fromElsewhere = (path: string, folder: string): string =>
  `${CANT} from ${path}, which only this computer has. In ${folder}: \`${shellWords(["cp", path, "."])} && npm install ${shellWord(`./${basename(path)}`)}\`, and commit the tarball.`;

const isAnother = (name: string, path: string): string =>
  `${CANT} from ${path}, which only this computer has, and ${name} here is another file: rename or remove that, and run this again.`;
