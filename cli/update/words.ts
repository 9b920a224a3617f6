import { basename } from "node:path";
import { dateText } from "@local-serving/base/units/dateText";
import type { Decided, UnderWay } from "@local-serving/machines/update/record";
import { failedText } from "@local-serving/machines/update/sentences";
import type { ImageEntry } from "../pin/writePin";
import type { NamedResult } from "./parts";
import type { PartOptions } from "./way";

/** Said as soon as it is decided that an update goes back. */
export const goingBackText = (why: Pick<Decided, "probe" | "detail">, file: string): string =>
  `The update is put back: ${failedText(why)}. Applying the stack file that was verified last (${file}).`;

const keptText = (kept: string): string =>
  kept === ""
    ? "What failed could not be kept: none of your folders could be written to."
    : `What failed is kept in ${kept}: the stack file, the logs, and what verify and doctor say.`;

/** How an update ended that was put back, and what was put back answers as before. */
export const putBackText = (decided: Decided, file: string, passed: number): string =>
  [
    `The update was put back: ${failedText(decided)}.`,
    `What runs is the stack file that was verified last (${file}); ${passed === 0 ? "no probe of it had passed before" : `the probes that passed before pass again (${passed})`}.`,
    keptText(decided.kept),
    "The stack file was not rewritten. Change it, or try it again: `serving up --again`.",
  ].join("\n");

/** How it ended where the verified stack file fails, too; `dataFit` if it has the data it knows. */
export const notTheUpdateText = (
  decided: Decided,
  now: Pick<Decided, "probe" | "detail">,
  doctor: string,
  dataFit = true,
): string =>
  [
    `The update was put back: ${failedText(decided)}. What was put back fails, too: ${failedText(now)}.`,
    `${dataFit ? "So the cause is not the update." : "Data could not be put back, as said above: that may be why."} What was put back stays as it is, and nothing is tried a second time.`,
    keptText(decided.kept),
    ...(doctor === "" ? [] : ["", doctor]),
  ].join("\n");

/** How it ended where there is nothing to go back to. */
export const leftText = (decided: Decided, doctor: string): string =>
  [
    `The update failed: ${failedText(decided)}. There is nothing to go back to, so it stays as it is.`,
    keptText(decided.kept),
    ...(doctor === "" ? [] : ["", doctor]),
  ].join("\n");

/** A probe that failed, with what mends it. */
const failedLine = ({ id, detail, fix }: NamedResult): string =>
  `  ${id}: ${detail}${fix === "" ? "" : `\n    ${fix}`}`;

/** How it ended where the update stays. */
export const staysText = (
  asked: readonly NamedResult[],
  failed: readonly NamedResult[],
  isKept: boolean,
): string => {
  const passed = asked.filter(({ status }) => status === "pass").length;
  if (failed.length > 0)
    return [
      "The update stays, but the stack file doesn't become the verified one: these probes fail, and did not pass before.",
      ...failed.map(failedLine),
    ].join("\n");
  if (passed === 0) return "The update is done. Nothing had to be probed.";
  const kept = isKept ? " The stack file is the one to go back to from now on." : "";
  return `The update is done, and every probe of what changed passed (${passed}).${kept}`;
};

/** Said where a machine went away in the middle. */
export const awayText = (why: string): string =>
  `${why} in the middle of the update. \`serving up\` finishes it once it answers.`;

/** Said after Ctrl-C or a signal. */
export const INTERRUPTED =
  "Interrupted. How far the update is has been written down: the next `serving up` finishes it.";

/** Said where the stack file is another one than the plan that was said yes to. */
export const changedText = (file: string): string =>
  `${file} has other settings now than when it was planned. Nothing more was changed: \`serving up --verified\` plans the present ones.`;

/** Said where what was to be put back can't be any more. */
export const nothingToPutBackText = ({ startedAt }: UnderWay, why: string): string =>
  `The update of ${dateText(startedAt)} can't be put back: ${why} Nothing is under way any more; \`serving up\` applies the stack file as it is.`;

/** What follows a yes to the whole way of an update, in its order. */
export function stepsText(
  way: Pick<Required<PartOptions>, "wait" | "verify">,
  { downloads, unread }: { readonly downloads: boolean; readonly unread: readonly ImageEntry[] },
  file: string,
) {
  const images = [...new Set(unread.map(({ image }) => image))].join(" and ");
  const steps = [
    ...(downloads ? ["download"] : []),
    ...(unread.length === 0 ? [] : [`read ${images} (its versions go into ${basename(file)})`]),
    "apply",
    ...(way.wait ? ["wait"] : []),
    ...(way.verify ? ["verify"] : []),
  ];
  return `Then: ${steps.join(", ")}.`;
}

/** Said where the stack file was edited while images and models were loaded. */
export const editedText = (file: string): string =>
  `${file} was edited meanwhile, so nothing was changed: \`serving up\` plans what it has now.`;

/** Said where an image is refused that was looked into. */
export const NOTHING_BUT_RECORD =
  "Nothing was changed but the record of the images in the stack file.";

/** Said after Ctrl-C in the wait or the probes. */
export const LEFT_RUNNING =
  "Interrupted. What was started goes on: `serving status --wait` follows it, then `serving verify`.";

/** Said where all is as the stack file has it. */
export const NOTHING_TO_CHANGE = "Nothing has to be changed.";

/** How the probes ended. */
export function probedText(results: readonly NamedResult[]): string {
  const failed = results.filter(({ status }) => status === "fail");
  const passed = results.filter(({ status }) => status === "pass").length;
  if (failed.length === 0)
    return passed === 0 ? "Nothing had to be probed." : `Every probe passed (${passed}).`;
  return [
    `${failed.length} of ${failed.length + passed} probes failed:`,
    ...failed.map(failedLine),
    "What was applied stays. Next: serving doctor",
  ].join("\n");
}

/** Stands where an update's changes would, if what was applied can't be read. */
export const UNREAD = "what it changes is not known, as said above";
