import type { Outcome } from "../../commandLine/command";
import { WrongUse } from "../../commandLine/exit";
import { say } from "../../commandLine/output";
import { readImage } from "../pin/readImage";
import { entryName, writePin, writtenLines } from "../pin/writePin";
import { sectionText } from "../plan/changeReport";
import { terminalWidth } from "../plan/layout";
import { type PlannedStack, readStack } from "../stack/readStack";
import { type StackFileOptions, stackFile } from "../stack/stackFile";
import { forStack, givenOptions } from "../stack/typed";
import { assumedReading, isServer, transformersRanges } from "./inside";
import { findNewest, type Newest } from "./newest";
import { type Review, reviewOf, type Upgraded } from "./review";
import { deniedLines, headLines, type Inside, reviewSections } from "./reviewText";
import { type ImageTarget, targetOf } from "./target";

/** How the command was called. */
interface Asked extends StackFileOptions {
  readonly write?: true;
}

/** The page for one server or service: what a newer image would change; with `write` the change is made. */
export async function upgradeImage(name: string, options: Asked): Promise<Outcome> {
  const file = stackFile(options);
  const stack = readStack(file);
  const target = targetOf(stack.settings, stack.plan.machines, name);
  if (target.entry === undefined) return withoutImage(name, target.message, options);
  say(`Asking the registry of ${target.entry.image.replace(/@.*/, "")} ...`);
  const newest = await findNewest(target.entry);
  const { newImage, newest: version, pinned } = newest;
  if (newImage === null || version === null || pinned === null)
    return nothingNewer(name, newest, target);
  const upgraded = {
    entry: target.entry,
    container: target.container,
    before: pinned,
    after: version,
  };
  const inside = options.write
    ? { reading: await readImage(newImage), isRead: true }
    : { reading: assumedReading(newImage, target.entry), isRead: false };
  const review = await reviewOf(stack, upgraded, inside.reading);
  return outcomeOf({ name, stack, target, newest, upgraded, inside, review }, options);
}

function withoutImage(name: string, message: string, { write }: Asked): Outcome {
  if (write) throw new WrongUse(`--write: ${message}`);
  return { result: { name, entry: null, image: null, message }, text: message };
}

function nothingNewer(name: string, newest: Newest, { note }: ImageTarget): Outcome {
  const { problem, entry, image, denied } = newest;
  const tagged = image.replace(/@.*/, "");
  const found =
    denied.length === 0
      ? `${entry} runs ${tagged}, the newest release.`
      : `${entry} runs ${tagged}, and no newer release may run.`;
  const lines = [
    ...(note === undefined ? [] : [note]),
    problem === undefined ? found : `${entry}: ${problem}`,
    ...deniedLines(denied),
  ];
  const result = { name, ...newest, written: false };
  return { result, text: lines.join("\n"), failed: problem !== undefined };
}

/** Everything that a page is made of. */
interface Page {
  readonly name: string;
  readonly stack: PlannedStack;
  readonly target: ImageTarget;
  readonly newest: Newest;
  readonly upgraded: Upgraded;
  readonly inside: Inside;
  readonly review: Review;
}

function outcomeOf(page: Page, options: Asked): Outcome {
  const { name, stack, target, newest, upgraded, inside, review } = page;
  const { entry, note } = target;
  const isRefused = review.verdict === "refused" || review.refused.length > 0;
  const written =
    options.write && !isRefused ? writePin(stack.file, entry, inside.reading) : undefined;
  const head = {
    title: `${entryName(entry)}: ${upgraded.before} -> ${upgraded.after}`,
    lines: [...(note === undefined ? [] : [note]), ...headLines(newest)],
  };
  const ends = isRefused
    ? refusedLines(page, options)
    : [
        ...(written === undefined ? [] : [...writtenLines(written), ""]),
        "Next:",
        ...(written === undefined
          ? [`  ${forStack(`serving upgrade ${name} --write`, options)}`]
          : []),
        `  ${forStack("serving up --verified", options)}`,
      ];
  const sections = [head, ...reviewSections(upgraded, inside, review)];
  const width = terminalWidth(process.stdout);
  return {
    result: {
      name,
      ...newest,
      versions: inside.reading.versions,
      evidence: inside.isRead ? "read" : "tag",
      transformers: isServer(entry) ? transformersRanges(entry, inside.reading) : null,
      ...review,
      written: written !== undefined,
      diff: written?.diff ?? "",
      backup: written?.backup ?? "",
    },
    text: [...sections.map((each) => sectionText(each, width)), ends.join("\n")].join("\n\n"),
    failed: isRefused,
  };
}

/** What is left to do where the new stack file would be refused. */
function refusedLines({ upgraded, newest, review }: Page, options: Asked): string[] {
  const first = options.write ? "Nothing was written" : "`--write` writes nothing";
  if (review.verdict === "refused") return [`${first}: the image is refused.`];
  const pin = `serving pin ${newest.newImage} --write --entry ${entryName(upgraded.entry)}${givenOptions(options)}`;
  return [
    `${first}: the stack file would be refused. To take the image all the same, and change the rest by hand:`,
    `  ${pin}`,
  ];
}
