import { compare } from "@renovatebot/pep440";
import { type Copy, versionOf } from "./listCopies";

/** Whether a container may start on the data of a copy, and what happens when it does. */
export interface Start {
  readonly starts: boolean;
  /** What a person has to know of it; "" for nothing. */
  readonly note: string;
}

/**
 * Judges whether the container's image takes the data of a copy: a database is migrated forward
 * alone, so an older program can't. Where the versions are not known, it is left to a person.
 */
export function startsAfter(copy: Copy, image: string, service: string): Start {
  if (image === "" || image === copy.image) return { starts: true, note: "" };
  const [now, then] = [versionOf(image), copy.version];
  if (now !== null && then !== null && compare(now, then) >= 0)
    return {
      starts: true,
      note: compare(now, then) === 0 ? "" : `Its image is ${now}, which migrates data of ${then}.`,
    };
  const why =
    now === null || then === null
      ? `it is not known whether ${image} accepts data of ${copy.image}`
      : `its image is ${now}, older than the data (${then}), and may not accept them`;
  return {
    starts: false,
    note: `It stays stopped, since ${why}: put another image into the stack file and run \`serving up\`, or \`serving start ${service}\`.`,
  };
}
