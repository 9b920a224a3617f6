import { log, runtime } from "@pulumi/pulumi";
import { plainText } from "../../faults/plainText";
import { PACK_VARIABLE } from "../../policies/levels";
import { engineCommand, showsPreview } from "./engineCommand";

/**
 * Prints sentences of one kind as one message below a heading. Without a terminal the engine prints
 * the first line of a message as it comes, and all of it at the end: so each sentence is read once.
 */
export function tellAll(
  kind: "note" | "warning",
  heading: string,
  sentences: readonly string[],
): void {
  if (sentences.length === 0) return;
  const indented = sentences.map((each) => `  ${each.replaceAll("\n", "\n  ")}`);
  const text = plainText([heading, ...indented].join("\n"));
  void (kind === "warning" ? log.warn(text) : log.info(text));
}

/**
 * Whether the preview has just said what an update would say again: `serving` never skips it, and
 * of a plain engine its command line tells.
 */
export const saidByPreview = (): boolean =>
  !runtime.isDryRun() &&
  (process.env[PACK_VARIABLE] !== undefined || showsPreview(engineCommand()));
