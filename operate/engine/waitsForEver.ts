import { readFileSync, statSync } from "node:fs";
import { jsonIn, objectOr } from "../../faults/json";

/** Long enough for what else is under way to say something. */
const QUIET_MS = 60_000;

/**
 * Whether an update waits for what never comes, by the engine's event log: where the old container of a replacement could
 * not be removed, an engine that goes on waits for the new one for ever (seen with Pulumi 3.246.0; pulumi/pulumi#16373).
 */
export function waitsForEver(eventLog: string): () => boolean {
  let [size, since, judged] = [0, Date.now(), false];
  return () => {
    const now = statSync(eventLog, { throwIfNoEntry: false })?.size ?? 0;
    if (now !== size) [size, since, judged] = [now, Date.now(), false];
    // A quiet log is read once: a long pull says nothing for an hour.
    if (judged || size === 0 || Date.now() - since < QUIET_MS) return false;
    judged = true;
    return readFileSync(eventLog, "utf8")
      .split("\n")
      .some((line) => objectOr(objectOr(objectOr(jsonIn(line)).resOpFailedEvent).metadata).op === "delete-replaced");
  };
}
