import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { explainWriting, WrongUse } from "@local-serving/base/commandLine/exit";
import { createFile, replaceFile } from "@local-serving/base/commandLine/replaceFile";
import { attempt } from "@local-serving/base/faults/defined";
import { homeFolder } from "@local-serving/base/faults/home";
import { keptText, readTextFile } from "@local-serving/base/faults/textFile";
import { PROGRAM_FOLDER } from "@local-serving/base/programFolder";
import { projectAbove } from "../../bundle/project.cjs";
import { givenPin, ownPin, PACKAGE, pinIn } from "../packages/pin";
import { carryPin } from "./carryPin";

/** The operator's folder: it holds his stack files and state, and pins this program. */
export interface Project {
  readonly folder: string;
  /** Whether `init` makes it. */
  readonly isNew: boolean;
}

/**
 * The project around the working folder, else the one that this folder becomes. Throws `WrongUse`
 * where it holds something else.
 */
export function projectHere(): Project {
  const folder = process.cwd();
  const above = projectAbove(folder);
  if (above !== undefined) return { folder: above, isNew: false };
  const why = whyNot(folder);
  if (why === undefined) return { folder, isNew: true };
  throw new WrongUse(
    `${folder} ${why}. Run \`serving init\` in an empty folder: it makes a project there.`,
  );
}

function whyNot(folder: string): string | undefined {
  if (folder === attempt(homeFolder)) return "is your home";
  if (!relative(PROGRAM_FOLDER, folder).startsWith("..")) return "belongs to this program itself";
  if (existsSync(join(folder, "Pulumi.yaml"))) return "has the Pulumi.yaml of another project";
  const manifest = join(folder, "package.json");
  const text = keptText(manifest) ?? "";
  if (existsSync(manifest) && pinIn(text) === undefined)
    return `has the package.json of another program, which doesn't name ${PACKAGE}`;
  return undefined;
}

const PULUMI_YAML = `name: local-serving
description: Local model serving on one unified-memory machine
main: node_modules/${PACKAGE}/program.cjs
runtime:
  name: nodejs
  options:
    typescript: false
`;

const IGNORED = [
  "# Keep a copy of Pulumi's state and of its passphrase, but not in git.",
  ".pulumi-state/",
  "node_modules/",
  "# The stack file before the last change that `serving` wrote.",
  "*.yaml.bak",
];

/**
 * What the package.json of a new project pins of this program; `undefined` if it has one. Throws
 * `WrongUse` where npm could not get it.
 */
export function pinOf({ folder, isNew }: Project, given?: string): string | undefined {
  if (!isNew || existsSync(join(folder, "package.json"))) return undefined;
  const pin = given === undefined ? ownPin() : givenPin(given, folder);
  if (pin !== undefined) return pin;
  throw new WrongUse(
    "This program isn't on npm, and npm keeps no note of the tarball that a global installation came from. Name that tarball, by its path or its address: `serving init --pin TARBALL`.",
  );
}

/** What was asked for beside the stack file. */
interface Asked {
  /** What a new package.json pins. */
  readonly pin?: string | undefined;
  /** Whose workflow is wanted. */
  readonly ci?: string;
}

/** What was made in a project's folder, and what keeps CI from installing from it. */
interface Made {
  readonly made: readonly string[];
  readonly mend: readonly string[];
}

/**
 * Makes what a project lacks beside its stack files, and returns the files' names. What is there
 * stays; a .gitignore gets the lines that it lacks.
 */
export function makeProject(project: Project, { pin, ci }: Asked): Made {
  if (ci === undefined) return { made: filesOf(project, { pin }), mend: [] };
  const { made, mend, ...carried } = carryPin(project.folder, pin);
  return { made: [...filesOf(project, { ...carried, ci }), ...made], mend };
}

function filesOf({ folder, isNew }: Project, { pin, ci }: Asked): string[] {
  const manifest = { private: true, dependencies: { [PACKAGE]: pin } };
  const files = new Map<string, string>();
  if (pin !== undefined) files.set("package.json", `${JSON.stringify(manifest, undefined, 2)}\n`);
  if (isNew) files.set("Pulumi.yaml", PULUMI_YAML);
  if (ci !== undefined) files.set(WORKFLOW, readTextFile(join(__dirname, "planWorkflow.yaml")));
  try {
    const ignored = isNew && ignore(join(folder, IGNORE)) ? [IGNORE] : [];
    const made = [...files].filter(([name, text]) =>
      createFile(join(folder, name), text, FOR_EVERYBODY),
    );
    return [...ignored, ...made.map(([name]) => name)];
  } catch (error) {
    explainWriting(folder, error);
  }
}

const IGNORE = ".gitignore";

export const WORKFLOW = ".github/workflows/plan.yml";

/** A project is shared by git, so its files have the usual mode. */
export const FOR_EVERYBODY = { newFileMode: 0o644 };

/** Adds what a .gitignore lacks; `false` where it lacks nothing. */
function ignore(file: string): boolean {
  const text = existsSync(file) ? readTextFile(file) : "";
  const there = text.split(/\r?\n/);
  const names = IGNORED.filter((line) => !line.startsWith("#"));
  if (names.every((name) => there.includes(name))) return false;
  const missing = IGNORED.filter((line) => !there.includes(line));
  const end = text === "" || text.endsWith("\n") ? "" : "\n";
  replaceFile(file, `${text}${end}${missing.join("\n")}\n`, FOR_EVERYBODY);
  return true;
}
