import { plainText } from "@local-serving/base/faults/plainText";
import { log, runtime } from "@pulumi/pulumi";
import { PACK_VARIABLE } from "../../policies/levels";
import { saidInProgram } from "../settings";
import { engineCommand, showsPreview } from "./engineCommand";

/**
 * Prints sentences of one kind as one message below a heading. Without a terminal the engine prints
 * the first line of a message as it comes, and all of it at the end: so each sentence is read once.
 * `component` names the one of somebody's program that they are of.
 */
export function tellAll(
  kind: "note" | "warning",
  heading: string,
  sentences: readonly string[],
  component?: string,
): void {
  if (sentences.length === 0) return;
  const indented = saidTo(component, sentences).map((each) => `  ${each.replaceAll("\n", "\n  ")}`);
  const text = plainText([heading, ...indented].join("\n"));
  void (kind === "warning" ? log.warn(text) : log.info(text));
}

/** Sentences as they hold for a stack file, or in the program that a component is of. */
export const saidTo = (
  component: string | undefined,
  sentences: readonly string[],
): readonly string[] => (component === undefined ? sentences : saidInProgram(sentences));

/**
 * Whether the preview has just said what an update would say again: `serving` never skips it, and
 * of a plain engine its command line tells.
 */
export const saidByPreview = (): boolean =>
  !runtime.isDryRun() &&
  (process.env[PACK_VARIABLE] !== undefined || showsPreview(engineCommand()));
