import { RunError, runtime } from "@pulumi/pulumi";
import { FaultyInput, UnreadableInput } from "../../faults/fault";
import { plainText } from "../../faults/plainText";
import type { UpdateFinding } from "../preflight/types";
import { tellAll } from "./tellAll";

/**
 * Prints what the policies and the preflight found, unless the policy pack prints it. At preview a
 * refusal is only announced; at update it stops the program before the first resource, so that
 * nothing is half done. A plain `pulumi up` runs no policy pack, and this is what protects it. Beside
 * a `component` of somebody's program the update may have made other resources.
 */
export function refuse(
  policies: readonly UpdateFinding[],
  onMachine: readonly UpdateFinding[],
  packSpeaks: boolean,
  component?: string,
): void {
  const toSay = packSpeaks ? onMachine : [...policies, ...onMachine];
  tellAll("warning", "From the checks before an update:", sentences(toSay, "warned"));
  if (runtime.isDryRun()) {
    tellAll("warning", "`up` would refuse this:", sentences(toSay, "refused"));
    return;
  }
  const refused = sentences([...policies, ...onMachine], "refused");
  if (refused.length > 0) {
    const what = component === undefined ? "nothing" : `nothing of LocalServing \`${component}\``;
    throw plainError(
      [`Refused, and ${what} was changed:`, ...refused.map((each) => `- ${each}`)].join("\n"),
    );
  }
}

function sentences(
  findings: readonly UpdateFinding[],
  verdict: UpdateFinding["verdict"],
): string[] {
  return findings
    .filter((each) => each.verdict === verdict)
    .map((each) => `${each.name}: ${each.message}`);
}

/**
 * An error that the engine prints as its message alone. The language host otherwise takes the stack
 * trace apart frame by frame, which costs a reader of no stack trace some 15 seconds.
 */
function plainError(message: string): RunError {
  const text = plainText(message);
  return Object.assign(new RunError(text), { stack: text });
}

/**
 * Runs `read` and reports faults in what the operator wrote: all at once, without a stack trace.
 */
export function userInput<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof FaultyInput || error instanceof UnreadableInput
      ? plainError(error.message)
      : error;
  }
}
