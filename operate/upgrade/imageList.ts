import { columns } from "../../commandLine/output";
import type { ImageEntry } from "../pin/writePin";
import { findNewest, type Newest } from "./newest";
import { nameOf } from "./target";

/** An image of the stack file in the list of `serving upgrade`. */
export interface ListedImage extends Newest {
  readonly name: string;
  /** What shows the page of the newest release; `null` where there is nothing to take. */
  readonly command: string | null;
}

/** Asks the registries of all entries. `said` makes a command one for this stack file. */
export const listImages = (
  entries: readonly ImageEntry[],
  said: (command: string) => string,
): Promise<ListedImage[]> =>
  Promise.all(
    entries.map(async (entry) => {
      const name = nameOf(entry, entries);
      const found = await findNewest(entry);
      return { name, ...found, command: found.isNewer ? said(`serving upgrade ${name}`) : null };
    }),
  );

/** The list for people; empty where the stack file names no image. */
export function listText(images: readonly ListedImage[]): string {
  if (images.length === 0) return "";
  const rows = images.map(({ name, pinned, newest, command, denied, problem }) => [
    name,
    pinned ?? "-",
    newest ?? "-",
    command ?? problem ?? (denied.length === 0 ? "no newer release" : onlyDenied(denied)),
  ]);
  return [
    "Images of the stack file:",
    ...columns([["", "pinned", "newest", ""], ...rows]).map((line) => `  ${line}`),
  ].join("\n");
}

const onlyDenied = (denied: ListedImage["denied"]): string =>
  `each newer release is refused: ${denied.map(({ version }) => version).join(", ")}`;
