import { existsSync } from "node:fs";
import { explainWriting, WrongUse } from "@local-serving/base/commandLine/exit";
import { createFile, replaceFile } from "@local-serving/base/commandLine/replaceFile";
import { readTextFile } from "@local-serving/base/faults/textFile";
import { declaresNothing } from "../../components/settings";
import { FOR_EVERYBODY } from "./project";

/** Where the facts come from; without these, from this computer. */
interface Asked {
  readonly from?: string;
  readonly on?: string;
}

/**
 * What Pulumi keeps of its own in a file that may be written. Throws `WrongUse` where it declares
 * something.
 */
export function keptIn(path: string, { from, on }: Asked): string {
  const text = existsSync(path) ? readTextFile(path) : "";
  if (text === "" || declaresNothing(path, text)) return text.replace(/^config:.*$/m, "").trim();
  const another = [from, on].every((each) => each === undefined)
    ? ""
    : " If it is of another machine, add `--name NAME`.";
  throw new WrongUse(
    `${path} is there already and stays as it is. Edit it: \`serving init --from-command COMMAND\` adds a server to it. Or move it away and run \`serving init\` again.${another}`,
  );
}

/** Writes the text above what Pulumi keeps there. Somebody may have written the file meanwhile. */
export function writeNew(file: string, text: string, options: Asked): void {
  const kept = keptIn(file, options);
  try {
    if (kept !== "") replaceFile(file, `${text}${kept}\n`);
    else if (existsSync(file)) replaceFile(file, text);
    else if (!createFile(file, text, FOR_EVERYBODY)) keptIn(file, options);
  } catch (error) {
    explainWriting(file, error);
  }
}
