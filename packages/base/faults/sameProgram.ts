import { join } from "node:path";
import { PROGRAM_FOLDER } from "../programFolder";
import { attempt } from "./defined";
import { UnreadableInput } from "./fault";
import { jsonIn, objectOr, textOr } from "./json";
import { readTextFile } from "./textFile";

/** Variable by which `serving up` tells the engine's programs which program it is. */
export const PROGRAM_VARIABLE = "LOCAL_SERVING_PROGRAM";

/** What tells this build from another: a hash of its sources; "" where it has no bundle. */
export function programMark(folder = PROGRAM_FOLDER): string {
  const made = attempt(() => readTextFile(join(folder, "dist/program.json")));
  return textOr(objectOr(jsonIn(made ?? "")).hash);
}

/**
 * Throws `UnreadableInput` where another build than the one that started an update goes on with it:
 * the engine starts the program once for the preview and once more after the yes.
 */
export function refuseOtherProgram(mark?: string, env = process.env): void {
  const started = env[PROGRAM_VARIABLE];
  if (started !== undefined && started !== (mark ?? programMark()))
    throw new UnreadableInput(
      PROGRAM_FOLDER,
      "is a different build from the `serving` that started this: it was updated meanwhile, or is in another folder. Run it again",
    );
}
