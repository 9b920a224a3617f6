import { Failed } from "@local-serving/base/commandLine/exit";
import { isRecord, jsonIn } from "@local-serving/base/faults/json";
import {
  copiesEnvironment,
  copiesWords,
  type DataCopies,
} from "@local-serving/machines/copies/dataCopies";
import { askOn } from "@local-serving/machines/onMachine";

/** A volume of a hundred GB on a slow disk. */
const LONGEST_SECONDS = 3 * 3600;

/** What can be asked of the copies, with its arguments. */
type Question =
  | readonly ["make"]
  | readonly ["list"]
  | readonly ["put-back", copy: string, start: "yes" | "no"]
  | readonly ["back", image: string];

/**
 * Asks the script on the machine and returns the objects that it prints, one a line. Throws
 * `Failed` with its own words.
 */
export async function askCopies(
  copies: DataCopies,
  question: Question,
): Promise<Record<string, unknown>[]> {
  const variables = Object.entries(copiesEnvironment(copies)).map(([name, to]) => `${name}=${to}`);
  const words = ["env", ...variables, ...copiesWords(question)];
  const { code, stopped, out, err } = await askOn(copies, words, { seconds: LONGEST_SECONDS });
  if (code !== 0) throw new Failed(reasonOf(err, copies, stopped === "timeout"));
  return out
    .split("\n")
    .filter(Boolean)
    .map((line) => {
      const value = jsonIn(line);
      if (isRecord(value)) return value;
      throw new Failed(
        `The copies of ${copies.service} can't be read (${line.slice(0, 80)}): look into ${copies.folder}.`,
      );
    });
}

function reasonOf(err: string, { service }: DataCopies, tooLong: boolean): string {
  if (tooLong)
    return `The copies of ${service} took longer than 3 hours: look at the disk's speed.`;
  return err.trim() || `The copies of ${service} can't be reached: is there \`sh\` on the machine?`;
}
