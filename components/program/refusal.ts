import { writeFileSync } from "node:fs";
import { FaultyInput, UnreadableInput } from "@local-serving/base/faults/fault";
import { plainText } from "@local-serving/base/faults/plainText";
import { REFUSAL_VARIABLE } from "@local-serving/machines/update/variables";
import { RunError, runtime } from "@pulumi/pulumi";
import type { Judged } from "../../policies/judge";
import { refusedMark } from "../planned";
import type { UpdateFinding } from "../preflight";
import { saidTo, tellAll } from "./tellAll";

/** Why a preview fails, once all that it declares was shown. */
export interface Refusal {
  readonly error: RunError;
  /** What the policies refuse, as `refusedMark` writes it. */
  readonly marks: readonly string[];
}

/** What is known of a plan and its machines before the first resource. */
export interface Findings {
  readonly policies: readonly (UpdateFinding & Pick<Judged, "resource" | "saidBy">)[];
  readonly onMachine: readonly UpdateFinding[];
  /** Whether the policy pack runs beside the program, and prints what it only warns of. */
  readonly packSpeaks: boolean;
  /** Name of the component that they are of, in somebody's program. */
  readonly component?: string;
}

/**
 * Prints what the policies and the preflight warn of, unless the policy pack prints it. What they
 * refuse stops an update before the first resource, so that nothing is half done. A plain `pulumi
 * up` runs no policy pack, and this is what protects it. Beside a `component` of somebody's program
 * the update may have made other resources. For a preview it returns what the policies refuse; what
 * the machine itself refuses may change before the update, so that is only announced.
 */
export function refuse(found: Findings): Refusal | undefined {
  const { policies, onMachine, packSpeaks, component } = found;
  const toSay = packSpeaks ? onMachine : [...policies, ...onMachine];
  tellAll("warning", "From the checks before an update:", sentences(toSay, "warned"), component);
  const refused = policies.filter(({ verdict }) => verdict === "refused");
  const said = refused.filter((each) => each.saidBy === undefined);
  if (!runtime.isDryRun()) {
    const reasons = sentences([...said, ...onMachine], "refused");
    if (reasons.length > 0) throw refusalError(reasons, found);
    return undefined;
  }
  tellAll("warning", "`up` would refuse this:", sentences(onMachine, "refused"), component);
  if (refused.length === 0) return undefined;
  return {
    error: refusalError(sentences(said, "refused"), found),
    marks: refused.map(({ name, resource }) => refusedMark(name, resource)),
  };
}

/** The reasons; where `serving` runs the engine it prints them, as the last that is on the screen. */
function refusalError(reasons: readonly string[], { component }: Findings): RunError {
  const what = component === undefined ? "nothing" : `nothing of LocalServing \`${component}\``;
  const said = saidTo(component, reasons).map((each) => `- ${each}`);
  const text = [`Refused, and ${what} was changed:`, ...said].join("\n");
  const file = process.env[REFUSAL_VARIABLE];
  if (file === undefined) return plainError(text);
  writeFileSync(file, plainText(text));
  return plainError("Refused. The last lines say why.");
}

/** Findings as sentences. One that is said of several resources names each. */
function sentences(
  findings: readonly (UpdateFinding & Partial<Pick<Judged, "resource">>)[],
  verdict: UpdateFinding["verdict"],
): string[] {
  const found = findings.filter((each) => each.verdict === verdict);
  return found.map(({ name, message, resource }) => {
    const same = found.filter((each) => each.name === name && each.message === message);
    const of = same.length > 1 && resource !== undefined ? ` (${resource})` : "";
    return `${name}${of}: ${message}`;
  });
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
