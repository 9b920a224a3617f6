import { existsSync } from "node:fs";
import type { Ledger } from "../app/ledger";
import {
  AlreadyFrozen,
  alreadyFrozen,
  type CapturedBaseline,
  writeFrozen,
} from "../automation/frozenContract";
import type { AutomationContract } from "../automation/resolve";
import { captureBaseline } from "./captureBaseline";
import { type FindTimeout, findHostTimeout, NO_HOST_TIMEOUT } from "./hostTimeout";
import type { MeasureSetting } from "./measureCoverage";

/** What was frozen, or why nothing was. */
export type Freezing =
  | { readonly file: string; readonly sha256: string; readonly baseline: CapturedBaseline | null }
  | { readonly fault: string };

/** Where a contract is frozen. */
export interface FreezeSetting extends Omit<MeasureSetting, "coverage" | "supervisor" | "ledger"> {
  /** Opens the ledger that keeps the output of measuring a baseline; called only when one is measured. */
  readonly openLedger: () => Promise<Ledger>;
  readonly file: string;
  /** Commit that the baseline `admission` is captured from. */
  readonly base: string;
  readonly findTimeout?: FindTimeout;
}

/**
 * Freezes a resolved contract: captures the baseline where one is asked for, and writes everything once. A host on which
 * coverage could never be bounded refuses here, before a run begins.
 */
export async function freezeContract(
  contract: AutomationContract,
  setting: FreezeSetting,
): Promise<Freezing> {
  const { file, base } = setting;
  const { coverage } = contract.verification;
  if (existsSync(file)) return { fault: alreadyFrozen(file) };
  if (coverage !== undefined && (setting.findTimeout ?? findHostTimeout)() === undefined)
    return { fault: NO_HOST_TIMEOUT };
  let baseline: CapturedBaseline | null = null;
  if (coverage?.baseline === "admission") {
    const captured = await captureBaseline(
      { ...setting, ledger: await setting.openLedger(), coverage },
      base,
    );
    if ("fault" in captured) return captured;
    baseline = captured;
  }
  try {
    const sha256 = writeFrozen(file, { contract, baseline, frozen_at: new Date().toISOString() });
    return { file, sha256, baseline };
  } catch (error) {
    if (error instanceof AlreadyFrozen) return { fault: error.message };
    throw error;
  }
}
