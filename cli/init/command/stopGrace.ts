import { durationSeconds } from "@local-serving/base/units/duration";
import { fitsServer, usualOf } from "../../models/leastServer";
import { AS_COMMANDED, type ServerValue } from "../../models/serverValues";

/** Says of a time to end in that no stack file may have it. */
export const NO_STOP_GRACE = "`stopGraceSeconds` is from 1 to 600.";

/** The seconds that a server may take to end, of a written duration that a stack file may have. */
export function stopGrace(written: string): number | undefined {
  const stopGraceSeconds = durationSeconds(written);
  return stopGraceSeconds !== undefined && fitsServer({ stopGraceSeconds })
    ? stopGraceSeconds
    : undefined;
}

/** The same as a value of the server, where it isn't the usual one. */
export const stopGraceValues = (seconds: number | undefined): ServerValue[] =>
  seconds === undefined || seconds === usualOf("stopGraceSeconds")
    ? []
    : [{ path: ["stopGraceSeconds"], value: seconds, why: AS_COMMANDED }];
