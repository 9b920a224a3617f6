import type { FileOnDisk } from "../sees/file";
import { type Difference, differs, isNot } from "./difference";

/**
 * How a file differs from its plan, by what is at its path. The text of a secret's file is not
 * compared.
 */
export function fileDifference(
  planned: { readonly mode: string; readonly text?: string },
  disk: FileOnDisk | undefined,
): Difference | undefined {
  if (disk === undefined) return isNot("file", "there", "missing");
  if (disk.mode !== planned.mode) return differs("mode", planned.mode, disk.mode);
  if (planned.text === undefined || disk.text === planned.text) return undefined;
  const text = { what: "text", planned: "as applied", found: "another" };
  if (disk.text === undefined)
    return { ...text, found: "unreadable", says: "can't be read by this user" };
  return { ...text, says: "was changed on the machine" };
}
