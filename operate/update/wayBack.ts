import { existsSync } from "node:fs";
import { readEvidence } from "../../components/evidence";
import type { MachinePlan, Plan } from "../../components/plan";
import type { StackSettings } from "../../components/settings";
import { FaultyInput, UnreadableInput } from "../../faults/fault";
import { readTextFile } from "../../faults/textFile";
import { fingerprintOfText } from "../../machines/update/fingerprint";
import { judgedPlan } from "../plan/judgedPlan";
import { readStack } from "../stack/readStack";
import { projectOrProgram } from "../stack/stackFile";
import { passedStackFile } from "../verify/lastVerify";

/** A stack file as this program plans it. */
export interface PlannedStack {
  readonly file: string;
  readonly text: string;
  readonly settings: StackSettings;
  readonly plan: Plan;
}

/** The stack file to go back to; or why there is none, and whether that is a reason to refuse. */
export type WayBack =
  | { readonly to: PlannedStack }
  | { readonly to?: undefined; readonly why: string; readonly refuses: boolean };

/** What is known of the verified stack file. */
export type VerifiedStackFile =
  | { readonly kind: "none" }
  | { readonly kind: "unplanned"; readonly file: string; readonly faults: string }
  | {
      readonly kind: "planned";
      readonly stack: PlannedStack;
      readonly settings: string | undefined;
    };

/** Reads the verified stack file of a stack, and plans it with this program. */
export function readVerified(stackFile: string, levels?: string): VerifiedStackFile {
  const file = passedStackFile(stackFile);
  if (file === undefined || !existsSync(file)) return { kind: "none" };
  try {
    const text = readTextFile(file);
    const stack = { file, ...readStack(file, text) };
    const known = readEvidence(stack.settings, projectOrProgram());
    const { policies } = judgedPlan(stack.settings, known, levels);
    const refused = policies.filter(({ verdict }) => verdict === "refused");
    if (refused.length === 0) return { kind: "planned", stack, settings: fingerprintOfText(text) };
    const faults = refused.map(({ name, message }) => `${name}: ${message}`).join("\n");
    return { kind: "unplanned", file, faults };
  } catch (error) {
    if (!(error instanceof FaultyInput || error instanceof UnreadableInput)) throw error;
    return { kind: "unplanned", file, faults: error.message };
  }
}

/** Says what an update can go back to. Pure. */
export function wayBack(
  verified: VerifiedStackFile,
  settings: string,
  isApplied: boolean,
): WayBack {
  if (verified.kind === "planned" && verified.settings !== settings) return { to: verified.stack };
  if (verified.kind === "planned") return { why: SAME, refuses: false };
  if (!isApplied) return { why: NOTHING_APPLIED, refuses: false };
  return { why: verified.kind === "none" ? NONE : cantPlan(verified), refuses: true };
}

const SAME =
  "The stack file that was verified last has the same settings: what changes comes from the program or the machine, and there is no other stack file to go back to.";

const NOTHING_APPLIED = "Nothing is applied yet, so there is nothing to go back to.";

const OR_PLAIN = "To apply it without a way back: `serving up`. Nothing was changed.";

const NONE = `No stack file has passed \`serving verify\` as a whole yet, so there is nothing to go back to. Run \`serving verify\` while the stack file is as it was applied: it keeps the file that passes. ${OR_PLAIN}`;

const cantPlan = ({ file, faults }: { readonly file: string; readonly faults: string }): string =>
  `The stack file that was verified last (${file}) can't be applied by this program, so there is no way back:\n${faults}\nRun \`serving verify\` while the stack file is as it was applied: it keeps the file that passes. ${OR_PLAIN}`;

/** What is applied to the machines of a stack; plans that can't be read are left out. */
export interface Applied {
  readonly machines: readonly MachinePlan[];
  /** Whether anything is applied, also where its plan can't be read. */
  readonly isThere: boolean;
}
