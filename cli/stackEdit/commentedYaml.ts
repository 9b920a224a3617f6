import { isRecord } from "@local-serving/base/faults/json";
import { plainText } from "@local-serving/base/faults/plainText";
import { Help } from "commander";
import { stringify } from "yaml";

/** Widest comment, without its sign. */
const WIDTH = 116;

/**
 * A document as YAML, each key below its comment; `comments` has them by dotted path. A list, and a
 * map of one key, stand on the line of their key; a value of `undefined` is left out with its key.
 */
export function commentedYaml(
  document: Readonly<Record<string, unknown>>,
  comments: ReadonlyMap<string, string>,
  indent = "",
  above = "",
): string {
  const entries = Object.entries(document).filter(([, value]) => value !== undefined);
  return entries
    .map(([key, value]) => {
      const path = `${above}${key}`;
      const [only] = isRecord(value) ? Object.keys(value) : [];
      const why =
        comments.get(path) ?? (isLong(value) ? undefined : comments.get(`${path}.${only}`));
      const start = `${why === undefined ? "" : commented(why, indent)}${indent}${inline(key)}:`;
      return isLong(value)
        ? `${start}\n${commentedYaml(value, comments, `${indent}  `, `${path}.`)}`
        : `${start} ${inline(value)}\n`;
    })
    .join("");
}

/** Whether a map has more than one key, or a map in it. */
function isLong(map: unknown): map is Record<string, unknown> {
  const values = isRecord(map) ? Object.values(map).filter((value) => value !== undefined) : [];
  return values.length > 1 || values.some(isRecord);
}

/**
 * A sentence as lines of a comment, or as an item of a list there. Whatever it quotes, no line of
 * it ends early.
 */
export function commented(text: string, indent = "", bullet = ""): string {
  const words = plainText(text).trim().replace(/\s+/g, " ");
  const lines = new Help().boxWrap(words, WIDTH - indent.length - bullet.length).split("\n");
  const lead = (index: number) => (index === 0 ? bullet : " ".repeat(bullet.length));
  return lines.map((line, index) => `${indent}# ${lead(index)}${line}\n`).join("");
}

const inline = (value: unknown): string =>
  stringify(value, { collectionStyle: "flow", lineWidth: 0 }).trimEnd();
