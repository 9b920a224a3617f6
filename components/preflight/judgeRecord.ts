import type { ReadRecord } from "@local-serving/machines/update/record";
import { triedText, underWayText } from "@local-serving/machines/update/sentences";
import { AGAIN_VARIABLE, VERIFIED_UPDATE_VARIABLE } from "@local-serving/machines/update/variables";
import { type PreflightFinding, refused, warned } from "../features/kind";

/**
 * Judges settings by what `serving up --verified` has kept of them: those that were put back are
 * refused, until they change or somebody says so. An update of its own is not judged. Pure.
 */
export function judgeRecord(
  { underWay, failed, unreadable }: ReadRecord,
  fingerprint: string,
  env: NodeJS.ProcessEnv = process.env,
): PreflightFinding[] {
  if (env[VERIFIED_UPDATE_VARIABLE] !== undefined) return [];
  const tried = failed?.settings === fingerprint && !env[AGAIN_VARIABLE];
  return [
    ...(tried ? [refused(triedText(failed))] : []),
    ...(underWay === undefined ? [] : [warned(underWayText(underWay))]),
    ...(unreadable === undefined ? [] : [warned(unreadable)]),
  ];
}
