import { join } from "node:path";
import { gt, valid } from "@renovatebot/pep440";
import { Argument, type Command, Option } from "commander";
import { command, type Outcome } from "../../commandLine/command";
import { explainWriting, WrongUse } from "../../commandLine/exit";
import { say } from "../../commandLine/output";
import { replaceFile } from "../../commandLine/replaceFile";
import { isRecord, jsonIn } from "../../faults/json";
import { readTextFile } from "../../faults/textFile";
import { version as own } from "../../package.json";
import { installIn } from "../packages/install";
import { newestRelease, planOf } from "../packages/newest";
import { PACKAGE, pinIn } from "../packages/pin";
import {
  projectFolder,
  type StackFileOptions,
  stackFile,
  stackFileOptions,
} from "../stack/stackFile";

interface UpgradeOptions extends StackFileOptions {
  readonly write?: true;
  readonly install: boolean;
}

export function upgradeCommand(): Command {
  return command({
    name: "upgrade",
    description: "Say which release is newer, what it would change here, and pin it.",
    arguments: [new Argument("[name]", "none is taken yet")],
    options: [
      ...stackFileOptions(),
      new Option("--write", "pin the newest release in package.json, and run `npm install`"),
      new Option("--no-install", "with --write: print `npm install` instead of running it"),
    ],
    notes: `It asks the registry of your npm settings, installs the newer release in a folder of its own, and prints that release's plan
against what is applied here. Nothing on the machine changes before \`serving up\`. UPGRADE.md says what each release restarts.
Exit code: 0 it is the newest, or what a newer one would change; 1 npm can't say; 2 wrong use.`,
    example: "upgrade --write",
    run: upgradeOutcome,
  });
}

async function upgradeOutcome(options: UpgradeOptions, name?: string): Promise<Outcome> {
  if (name !== undefined)
    throw new WrongUse(
      `serving upgrade takes no name yet (${name}): it upgrades ${PACKAGE} itself. \`serving pin\` finds newer images.`,
    );
  const folder = projectFolder();
  const file = stackFile(options);
  const manifest = join(folder, "package.json");
  const text = readTextFile(manifest);
  const pinned = pinIn(text);
  if (!pinned)
    throw new WrongUse(
      `${manifest} pins no ${PACKAGE}: this program runs from a clone. \`git pull\` and \`npm ci\` upgrade that.`,
    );
  say("Asking npm for the newest release ...");
  const newest = await newestRelease(folder);
  const now = valid(pinned) === null ? own : pinned;
  if (valid(newest) === null || !gt(newest, now)) {
    const result = { pinned, newest, isNewer: false, plan: null, written: false };
    return { result, text: `${PACKAGE} ${now} is the newest release.` };
  }
  say(`Installing ${newest} beside it, to see its plan ...`);
  const plan = await planOf(newest, folder, file);
  const head = `${PACKAGE} ${newest} is newer than ${now}, which ${manifest} pins. Its own plan:\n\n${plan}\n`;
  const result = { pinned, newest, isNewer: true, plan, written: options.write === true };
  if (options.write !== true)
    return { result, text: `${head}\nNext:\n  serving upgrade --write\n  serving up` };
  pin(manifest, text, newest);
  const { mend } = options.install ? await installIn(folder) : { mend: [] };
  const next = [...(options.install ? [] : ["npm install"]), "serving up"];
  const lines = [
    `${manifest} pins ${newest} now; it had ${JSON.stringify(pinned)}.`,
    ...mend,
    "",
    "Next:",
    ...next.map((each) => `  ${each}`),
  ];
  return { result, text: `${head}\n${lines.join("\n")}`, failed: mend.length > 0 };
}

/** Writes another pin, and leaves every other letter of the file as it is. */
function pin(file: string, text: string, version: string): void {
  const named = new RegExp(`("${PACKAGE}"\\s*:\\s*)"(?:[^"\\\\]|\\\\.)*"`, "g");
  const pinning = text.replace(named, (_, key: string) => `${key}${JSON.stringify(version)}`);
  if (!isRecord(jsonIn(pinning)) || pinIn(pinning) !== version)
    throw new WrongUse(
      `${file} can't be changed: write ${JSON.stringify(version)} for ${PACKAGE} by hand.`,
    );
  try {
    replaceFile(file, pinning);
  } catch (error) {
    explainWriting(file, error);
  }
}
