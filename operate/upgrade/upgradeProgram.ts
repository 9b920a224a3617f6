import { join } from "node:path";
import { gt, valid } from "@renovatebot/pep440";
import type { Outcome } from "../../commandLine/command";
import { explainWriting, WrongUse } from "../../commandLine/exit";
import { say } from "../../commandLine/output";
import { replaceFile } from "../../commandLine/replaceFile";
import { parseStackFile } from "../../components/settings";
import { Failed, orInputFault } from "../../faults/fault";
import { isRecord, jsonIn } from "../../faults/json";
import { readTextFile } from "../../faults/textFile";
import { version as own } from "../../package.json";
import { installIn } from "../packages/install";
import { newestRelease, planOf } from "../packages/newest";
import { isOnNpm, PACKAGE, pinIn } from "../packages/pin";
import { imageEntries } from "../pin/writePin";
import { projectFolder, type StackFileOptions, stackFile } from "../stack/stackFile";
import { forStack } from "../stack/typed";
import { type ListedImage, listImages, listText } from "./imageList";

/** How the command was called. */
interface Asked extends StackFileOptions {
  readonly write?: true;
  readonly install: boolean;
}

/** The operator's folder, which pins a release. */
interface Pinned {
  readonly folder: string;
  readonly file: string;
  readonly manifest: string;
  readonly text: string;
  readonly pinned: string;
}

/** A release of this program that is newer, with its own plan; `plan` is `null` where none is. */
interface Release {
  readonly newest: string;
  readonly plan: string | null;
  readonly said: string;
}

/** Says which release of this program is newer, and lists the images; with `write` it pins that release. */
export async function upgradeProgram(options: Asked): Promise<Outcome> {
  const here = pinnedHere(stackFile(options));
  if (!isOnNpm()) return withoutNpm(here, options);
  if (options.write) return withPin(here, await newerRelease(here), options.install);
  const [release, images] = await Promise.all([
    newerRelease(here).catch(failure),
    imagesIn(here.file, options),
  ]);
  const failed = release instanceof Failed;
  if (failed) say(release.message);
  const list = listText(images);
  const said = failed ? "" : release.plan === null ? release.said : `${release.said}\n\n${NEXT}`;
  return {
    result: {
      ...resultOf(here, failed ? undefined : release),
      ...(failed ? { problem: release.message } : {}),
      images,
    },
    text: [said, list].filter((part) => part !== "").join("\n\n"),
    failed: failed || images.some(({ problem }) => problem !== undefined),
  };
}

const NOT_ON_NPM = `${PACKAGE} isn't on npm, so npm isn't asked: a package of that name there is somebody else's. To take a newer release, run \`npm install TARBALL\` in this folder, with the path or the address of its tarball. UPGRADE.md says what it restarts.`;

/** Until this program is on npm, only the images are looked up. */
async function withoutNpm(here: Pinned, options: Asked): Promise<Outcome> {
  if (options.write) throw new Failed(NOT_ON_NPM);
  const images = await imagesIn(here.file, options);
  return {
    result: { ...resultOf(here), images },
    text: [NOT_ON_NPM, listText(images)].filter((part) => part !== "").join("\n\n"),
    failed: images.some(({ problem }) => problem !== undefined),
  };
}

const NEXT = "Next:\n  serving upgrade --write\n  serving up";

function failure(error: unknown): Failed {
  if (error instanceof Failed) return error;
  throw error;
}

const resultOf = ({ pinned }: Pinned, release?: Release, written = false) => ({
  pinned,
  newest: release?.newest ?? null,
  isNewer: release !== undefined && release.plan !== null,
  plan: release?.plan ?? null,
  written,
});

function pinnedHere(file: string): Pinned {
  const folder = projectFolder();
  const manifest = join(folder, "package.json");
  const text = readTextFile(manifest);
  const pinned = pinIn(text);
  if (pinned) return { folder, file, manifest, text, pinned };
  throw new WrongUse(
    `${manifest} pins no ${PACKAGE}: this program runs from a clone. \`git pull\` and \`npm ci\` upgrade that; \`serving pin --newer\` lists newer images.`,
  );
}

async function newerRelease({ folder, file, manifest, pinned }: Pinned): Promise<Release> {
  say("Asking npm for the newest release ...");
  const newest = await newestRelease(folder);
  const now = valid(pinned) === null ? own : pinned;
  if (valid(newest) === null || !gt(newest, now))
    return { newest, plan: null, said: `${PACKAGE} ${now} is the newest release.` };
  say(`Installing ${newest} beside it, to see its plan ...`);
  const plan = await planOf(newest, folder, file);
  const said = `${PACKAGE} ${newest} is newer than ${now}, which ${manifest} pins. Its own plan:\n\n${plan}`;
  return { newest, plan, said };
}

/** The images of a stack file; none where this version can't read it, which needn't stop an upgrade. */
async function imagesIn(file: string, options: Asked): Promise<ListedImage[]> {
  const settings = orInputFault(() => parseStackFile(file, readTextFile(file)));
  if (settings instanceof Error) {
    say(`Images are not listed: ${settings.message}`);
    return [];
  }
  return listImages(imageEntries(settings), (command) => forStack(command, options));
}

async function withPin(here: Pinned, release: Release, installs: boolean): Promise<Outcome> {
  const { folder, manifest, text, pinned } = here;
  const { newest, plan, said } = release;
  if (plan === null) return { result: resultOf(here, release), text: said };
  pin(manifest, text, newest);
  const { mend } = installs ? await installIn(folder) : { mend: [] };
  const next = [...(installs ? [] : ["npm install"]), "serving up"];
  const lines = [
    `${manifest} pins ${newest} now; it had ${JSON.stringify(pinned)}.`,
    ...mend,
    "",
    "Next:",
    ...next.map((each) => `  ${each}`),
  ];
  return {
    result: resultOf(here, release, true),
    text: `${said}\n\n${lines.join("\n")}`,
    failed: mend.length > 0,
  };
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
