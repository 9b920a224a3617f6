import { dateText } from "@local-serving/base/units/dateText";
import type { Decided, FailedUpdate, UnderWay } from "./record";
import { AGAIN_VARIABLE } from "./variables";

/** `b chat-tools failed (it answered nothing)`. */
export const failedText = ({ probe, detail }: Pick<Decided, "probe" | "detail">): string =>
  `${probe} failed${detail === "" ? "" : ` (${detail.replace(/\.$/, "")})`}`;

/** What is said first wherever settings are looked at that were tried and put back. */
export function triedText(failed: FailedUpdate): string {
  const { at, kept } = failed;
  const where = kept === "" ? "" : ` The stack file, its log and doctor's answer are in ${kept}.`;
  return `This stack file was tried on ${dateText(at)} and put back: ${failedText(failed)}.${where} Change it, or try it again: \`serving up --again\` (plain pulumi: \`${AGAIN_VARIABLE}=1 pulumi up\`).`;
}

const STEPS: Readonly<Record<UnderWay["step"], string>> = {
  before: "nothing was touched yet",
  forward: "it was applying the stack file",
  back: "it was putting back the stack file that was verified last",
};

/** What was under way when it ended before its end. */
export const brokenOffText = ({ step, startedAt }: UnderWay): string =>
  `An update by \`serving up --verified\` that began on ${dateText(startedAt)} was interrupted: ${STEPS[step]}.`;

/** What a plain engine is told: whether the process lives is for `serving up` to find out. */
export const underWayText = ({ startedAt, by: { pid, host } }: UnderWay): string =>
  `An update by \`serving up --verified\` has been under way since ${dateText(startedAt)} (process ${pid} on ${host}), or was interrupted. \`serving up\` says which, and finishes it.`;

/** Why a second update waits for the first. */
export const busyText = ({ startedAt, by: { pid, host } }: UnderWay): string =>
  `An update by \`serving up --verified\` has been under way since ${dateText(startedAt)} (process ${pid} on ${host}). Nothing was changed: wait until it ends.`;
