import { CommandNotStarted } from "../app/supervisor";
import type { CapturedBaseline } from "../automation/frozenContract";
import { type MeasureSetting, measureCoverage } from "./measureCoverage";
import { inThrowawayWorktree, WorktreeFailure } from "./throwawayWorktree";

/**
 * Measures the coverage of the base commit, in a throwaway checkout of it. A metric with a floor that the base does not
 * have is a fault: a regression could never be told.
 */
export async function captureBaseline(
  setting: MeasureSetting,
  ref: string,
): Promise<CapturedBaseline | { readonly fault: string }> {
  const { root: repository, env, ledger, interrupt, coverage } = setting;
  const log = ledger.openLog("baseline.log");
  const streams = { stdout: log.descriptor, stderr: log.descriptor };
  try {
    return await inThrowawayWorktree(
      { repository, ref, env, streams, jobs: ledger.jobs, interrupt },
      async (worktree) => {
        const { directory: root, commit, supervisor } = worktree;
        const measured = await measureCoverage({ ...setting, root, supervisor });
        if ("fault" in measured)
          return { fault: `the baseline ${commit} can't be measured: ${measured.fault}` };
        const lacking = [
          ...(coverage.min_line_pct !== undefined && measured.line_pct === null ? ["line"] : []),
          ...(coverage.min_branch_pct !== undefined && measured.branch_pct === null ? ["branch"] : []),
        ];
        if (lacking.length > 0) {
          return {
            fault: `the baseline ${commit} has no ${lacking.join(" and no ")} coverage, for which there is a floor`,
          };
        }
        return { commit, ...measured };
      },
    );
  } catch (error) {
    if (!(error instanceof WorktreeFailure || error instanceof CommandNotStarted)) throw error;
    return { fault: error.message };
  } finally {
    log.close();
  }
}
