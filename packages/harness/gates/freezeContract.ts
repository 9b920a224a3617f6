import { existsSync } from "node:fs";
import type { Ledger } from "../app/ledger";
import { alreadyFrozen, type CapturedBaseline, writeFrozen } from "../automation/frozenContract";
import type { AutomationContract } from "../automation/resolve";
import {
  findHostTimeout,
  METRICS,
  type MeasureSetting,
  measureCoverage,
  NO_HOST_TIMEOUT,
} from "./coverageGate";
import { inThrowawayWorktree } from "./throwawayWorktree";

interface FreezeSetting extends Omit<MeasureSetting, "coverage" | "supervisor" | "ledger"> {
  /**
   * Opens the ledger that keeps the output of measuring a baseline; called only when one is
   * measured.
   */
  readonly openLedger: () => Promise<Ledger>;
  readonly file: string;
  /** Commit that the baseline `admission` is captured from. */
  readonly base: string;
}

/**
 * Freezes a resolved contract: captures the baseline where one is asked for, and writes everything
 * once. A host on which coverage could never be bounded refuses here, before a run begins.
 */
export async function freezeContract(contract: AutomationContract, setting: FreezeSetting) {
  const { file, base } = setting;
  const { coverage } = contract.verification;
  if (existsSync(file)) return { fault: alreadyFrozen(file) };
  if (coverage !== undefined && findHostTimeout(setting.env.PATH) === undefined)
    return { fault: NO_HOST_TIMEOUT };
  let baseline: CapturedBaseline | null = null;
  if (coverage?.baseline === "admission") {
    const captured = await captureBaseline(
      { ...setting, ledger: await setting.openLedger(), coverage },
      base,
    );
    if ("fault" in captured) return { fault: captured.fault };
    baseline = captured;
  }
  const sha256 = writeFrozen(file, { contract, baseline, frozen_at: new Date().toISOString() });
  return sha256 === undefined ? { fault: alreadyFrozen(file) } : { file, sha256, baseline };
}

/**
 * Measures the coverage of the base commit, in a throwaway checkout of it. A metric with a floor
 * that the base does not have is a fault: a regression could never be told.
 */
async function captureBaseline(setting: MeasureSetting, ref: string) {
  const { root: repository, env, ledger, interrupt, coverage } = setting;
  return inThrowawayWorktree(
    { repository, ref, env, ledger, log: "baseline.log", interrupt },
    async ({ directory: root, commit, supervisor }) => {
      const measured = await measureCoverage({ ...setting, root, supervisor });
      if ("fault" in measured)
        return { fault: `the baseline ${commit} can't be measured: ${measured.fault}` };
      const lacking = METRICS.filter(
        ({ pct, floorKey }) => coverage[floorKey] !== undefined && measured[pct] === null,
      );
      if (lacking.length === 0) return { commit, ...measured };
      const names = lacking.map(({ name }) => name).join(" and no ");
      const fault = `the baseline ${commit} has no ${names} coverage, for which there is a floor`;
      return { fault };
    },
  );
}
