import { type Fault, FaultyInput } from "@local-serving/base/faults/fault";
import { FLAGS } from "../../../components/settings";
import type { Launch } from "./started";
import { refuseCommand } from "./words";

/** What a work gives; a fault of the stack file that it would write is one of the command. */
export function withoutFaults<Result>(start: Launch, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof FaultyInput)) throw error;
    return refuseCommand(...error.faults.slice(0, MOST).map((fault) => faultText(fault, start)));
  }
}

const MOST = 5;

/** A fault by the setting that a part of the command would be, with the line of that part. */
function faultText({ path, message }: Fault, { words, lineOf, line: from }: Launch): string {
  const [, setting = ""] = /\binferenceServers\.[^.]+\.(.+)$/.exec(path) ?? [];
  if (setting === "") return message;
  const flag = FLAGS.find((each) => each.setting === setting)?.flag;
  const sought = setting === "model.id" ? ["--model", words[0]] : [flag, setting.split(".").at(-1)];
  const [line] = sought.flatMap((word) => (word === undefined ? [] : (lineOf?.(word, from) ?? [])));
  const at = line === undefined ? "" : ` (line ${line})`;
  return `What would be \`${setting}\`${at} can't be: ${message}`;
}
