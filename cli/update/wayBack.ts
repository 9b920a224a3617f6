import { existsSync } from "node:fs";
import { orInputFault } from "@local-serving/base/faults/fault";
import { fingerprintOfText } from "@local-serving/machines/update/fingerprint";
import type { MachinePlan } from "../../components/plan";
import { policiesOn } from "../plan/judgedPlan";
import { type PlannedStack, readStack } from "../stack/readStack";
import { passedStackFile } from "../verify/lastVerify";

/** The stack file to go back to; or why there is none, and whether that is a reason to refuse. */
export type WayBack =
  | { readonly to: PlannedStack }
  | { readonly to?: undefined; readonly why: string; readonly refuses: boolean };

/** What is known of the verified stack file. */
type VerifiedStackFile =
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
  const stack = orInputFault(() => readStack(file));
  if (stack instanceof Error) return { kind: "unplanned", file, faults: stack.message };
  const refused = policiesOn(stack, levels).filter(({ verdict }) => verdict === "refused");
  if (refused.length === 0)
    return { kind: "planned", stack, settings: fingerprintOfText(stack.text) };
  const faults = refused.map(({ name, message }) => `${name}: ${message}`).join("\n");
  return { kind: "unplanned", file, faults };
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
  "The stack file that was verified last has the same settings. The changes come from the program or the machine, so there is no other stack file to go back to.";

const NOTHING_APPLIED = "Nothing is applied yet, so there is nothing to go back to.";

const OR_PLAIN = "To apply it without a way back: `serving up`. Nothing was changed.";

const NONE = `No stack file has passed \`serving verify\` as a whole yet, so there is nothing to go back to. Run \`serving verify\` with the stack file that is applied: it keeps the file that passes. ${OR_PLAIN}`;

const cantPlan = ({ file, faults }: { readonly file: string; readonly faults: string }): string =>
  `The stack file that was verified last (${file}) can't be applied by this program, so there is no way back:\n${faults}\nRun \`serving verify\` with the stack file that is applied: it keeps the file that passes. ${OR_PLAIN}`;

/** What is applied to the machines of a stack; plans that can't be read are left out. */
export interface Applied {
  readonly machines: readonly MachinePlan[];
  /** Whether anything is applied, also where its plan can't be read. */
  readonly isThere: boolean;
}
