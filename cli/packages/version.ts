import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runAtOnce } from "@local-serving/base/commandLine/run";
import { attempt } from "@local-serving/base/faults/defined";
import { PROGRAM_FOLDER } from "@local-serving/base/programFolder";
import { version } from "../../package.json";

/** Digits of a commit that are shown. */
const SHOWN = 12;

/** This version and its commit, as far as that is known: `0.2.0 (3f2a1b9c0d4e)`. */
export function versionText(): string {
  const commit = (isClone() ? commitOfClone() : commitOfPackage())?.trim().slice(0, SHOWN);
  return commit === undefined || commit === "" ? version : `${version} (${commit})`;
}

const isClone = (): boolean => existsSync(join(PROGRAM_FOLDER, ".git"));

function commitOfClone(): string | undefined {
  const { code, out } = runAtOnce(["git", "-C", PROGRAM_FOLDER, "rev-parse", "HEAD"]);
  return code === 0 ? out : undefined;
}

/** `npm pack` writes it beside the bundles. */
const commitOfPackage = (): string | undefined =>
  attempt(() => readFileSync(join(PROGRAM_FOLDER, "dist/commit"), "utf8"));
