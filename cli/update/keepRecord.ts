import { rmdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { Failed } from "@local-serving/base/commandLine/exit";
import { replaceFile } from "@local-serving/base/commandLine/replaceFile";
import { attempt } from "@local-serving/base/faults/defined";
import { isOverSsh } from "@local-serving/machines/address";
import { filesOf } from "@local-serving/machines/files";
import { type RecordPlace, recordPathOn } from "@local-serving/machines/update/readRecord";
import { recordText, type UpdateRecord } from "@local-serving/machines/update/record";

/** Replaces a file in one step on a machine: a reader sees the old text or the new. */
const REPLACE =
  'umask 077; mkdir -p "$(dirname "$1")" && printf %s "$2" >"$1.$$.tmp" && mv -f "$1.$$.tmp" "$1"';

/** Removes a file, and its folder where that is empty then. */
const REMOVE = 'rm -f -- "$1" && { rmdir -- "$(dirname "$1")" 2>/dev/null; true; }';

/**
 * Keeps the record of a stack on its first machine, or removes it where there is nothing to keep.
 * Throws `Failed` where that can't be done.
 */
export async function keepRecord(machine: RecordPlace, record: UpdateRecord): Promise<void> {
  const path = recordPathOn(machine);
  const text = recordText(record);
  const why = isOverSsh(machine) ? await thereFailed(machine, path, text) : hereFailed(path, text);
  if (why !== undefined)
    throw new Failed(`${path}, the record of how far the update is, can't be written: ${why}`);
}

function hereFailed(path: string, text: string | undefined): string | undefined {
  try {
    if (text !== undefined) replaceFile(path, text);
    else {
      rmSync(path, { force: true });
      // The applied plan is in it, but after `down`.
      attempt(() => rmdirSync(dirname(path)));
    }
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function thereFailed(
  machine: RecordPlace,
  path: string,
  text: string | undefined,
): Promise<string | undefined> {
  const words =
    text === undefined ? ["sh", "-c", REMOVE, "sh", path] : ["sh", "-c", REPLACE, "sh", path, text];
  const { code, err } = await filesOf(machine).ask(words);
  return code === 0 ? undefined : err;
}
