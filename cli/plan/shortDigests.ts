import { shortDigest } from "@local-serving/machines/docker/imageReference";
import type { Section } from "./changeReport";

const DIGEST = /sha256:[0-9a-f]{64}/g;
const COMMAND = /`serving [^`]+`/g;
const EITHER = new RegExp(`${COMMAND.source}|${DIGEST.source}`, "g");

/**
 * Sections in which each digest stands whole once at most: in a command, which somebody copies, else
 * in the details.
 */
export function withShortDigests(sections: readonly Section[]): Section[] {
  const lines = sections.flatMap((each) => each.lines);
  const inCommands = new Set(
    lines.flatMap((line) => line.match(COMMAND) ?? []).flatMap((each) => each.match(DIGEST) ?? []),
  );
  const whole = new Set<string>();
  const once = (digest: string): string => {
    if (whole.has(digest)) return shortDigest(digest);
    whole.add(digest);
    return digest;
  };
  const shortened = (line: string, isFolded: boolean): string =>
    line.replaceAll(EITHER, (found) => {
      if (found.startsWith("`")) return found.replaceAll(DIGEST, once);
      return isFolded && !inCommands.has(found) ? once(found) : shortDigest(found);
    });
  return sections.map((section): Section => {
    const isFolded = section.isFolded === true;
    return { ...section, lines: section.lines.map((line) => shortened(line, isFolded)) };
  });
}
