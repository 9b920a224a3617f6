import { delimiter } from "node:path";
import { NPX } from "../programFolder";
import { programOnPath } from "./run";

/** Our commands, where a text has them as somebody types them. */
const OURS =
  /(?<!-- |[\w./-])serving (?=(?:init|models|fit|plan|pin|fetch|preview|up|down|refresh|verify|doctor|bench|status|logs|stop|start|backup|restore|clients|harness|completion|wait|drift|inventory|upgrade|kv|config|app|gate)\b)/g;

/** The one command that is a program of its own here, where its package is installed alone. */
let alone: string | undefined;

/** From now on the commands below this one are typed without `serving`: `harness check`. */
export function isAlone(command: string): void {
  alone = command;
}

/** Stands in a text that is shown as it is; no text that we print has it, since it is no character. */
const AS_IT_IS = "\ufdd1";

/** Folders that npm puts in front of the PATH of what it runs: a person's shell doesn't have them. */
const OF_NPM = /[\\/](?:node_modules[\\/]\.bin|node-gyp-bin)[\\/]?$/;

/** The same with our commands as they run in the folder of a project, whatever the shell has. */
export const throughNpx = (text: string): string =>
  alone === undefined
    ? text.replace(OURS, `${NPX} `).replaceAll(AS_IT_IS, "")
    : spoken(text).replaceAll(AS_IT_IS, "");

/** A text with our commands as this program has them: where it is alone, without `serving`. */
export const spoken = (text: string): string =>
  alone === undefined ? text : text.replaceAll(`serving ${alone}`, alone);

/**
 * A text with our commands as they run in the folder of a stack: through npx, where the shell has no
 * `serving`. All that a person reads goes through this.
 */
export const runsHere = (text: string, { PATH = "" }: NodeJS.ProcessEnv = process.env): string =>
  alone === undefined && isOnPath(PATH) ? text.replaceAll(AS_IT_IS, "") : throughNpx(text);

/** The text of a file: it is shown as the file has it, commands of ours included. */
export const asItIs = (text: string): string => text.replaceAll(OURS, `serving${AS_IT_IS} `);

let looked: { readonly path: string; readonly isThere: boolean } | undefined;

/** Whether a person's shell has `serving`; one PATH is looked through once. */
function isOnPath(path: string): boolean {
  if (looked?.path !== path) {
    const own = path.split(delimiter).filter((folder) => !OF_NPM.test(folder));
    looked = { path, isThere: programOnPath(["serving"], own.join(delimiter)) !== undefined };
  }
  return looked.isThere;
}
