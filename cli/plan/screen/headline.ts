import { uncoloured, type Width } from "@local-serving/base/commandLine/layout";
import { runsHere } from "@local-serving/base/commandLine/ownCommand";

/** Where a sentence ends: before a space and the beginning of another one. */
const END = /[.!?](?=\s+\S)/g;

/** Text in backquotes or brackets, in which a full stop ends nothing. */
const ENCLOSED = /`[^`]*`|\([^()]*\)|"[^"]*"/g;

/** The sentences of a message. */
export function sentences(message: string): string[] {
  const plain = message.replaceAll(ENCLOSED, (found) => "X".repeat(found.length));
  const ends = [...plain.matchAll(END)].map(({ index }) => index + 1);
  return [...ends, message.length].map((end, at) => message.slice(ends[at - 1] ?? 0, end).trim());
}

/** The first sentence of a message, which says by itself what is wrong. */
export const headline = (message: string): string => sentences(message)[0] ?? message;

/** A line that ends at a word and `…` where it is longer than the width. */
export function cutTo(text: string, width: Width): string {
  const line = runsHere(text);
  const plain = uncoloured(line);
  if (plain.length <= width) return line;
  const at = plain.lastIndexOf(" ", width - 2);
  return `${plain.slice(0, at > 0 ? at : width - 2).replace(/[,;:.]$/, "")} …`;
}
