import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { interruption } from "@local-serving/base/commandLine/interrupt";
import { runAtOnce } from "@local-serving/base/commandLine/run";
import { commandEnvironment } from "../app/commandEnvironment";
import type { LedgerLog, RunSetting } from "../app/ledger";
import { runBounded, Supervisor } from "../app/supervisor";
import { removeWorktree, WORKTREE_PREFIX } from "../app/worktree";

/** Longest that git may take for a checkout, in seconds: large repositories take minutes. */
const CHECKOUT_BOUND_SEC = 600;

/** A checkout of one commit that is thrown away, with the supervisor that runs commands in it. */
interface ThrowawayWorktree {
  readonly directory: string;
  readonly commit: string;
  readonly supervisor: Supervisor;
  /** Where its commands' output goes. */
  readonly log: LedgerLog;
}

interface WorktreeSetting extends RunSetting {
  readonly repository: string;
  /** Commit, branch or tag to check out. */
  readonly ref: string;
  /** Name of the log in the ledger, for git's output and that of the commands. */
  readonly log: string;
}

/**
 * Gives `use` a detached checkout of a commit in a temporary directory and removes it afterwards,
 * whatever happens: the supervisor that makes it and runs commands in it also removes it when this
 * program is killed. Ignored files, such as installed packages, are not in it. `fault` says what
 * could not be done with git.
 */
export async function inThrowawayWorktree<Result>(
  setting: WorktreeSetting,
  use: (worktree: ThrowawayWorktree) => Promise<Result>,
): Promise<Result | { readonly fault: string }> {
  const { ref, env, ledger, interrupt } = setting;
  const repository = resolve(setting.repository);
  const commit = commitOf(repository, ref, env);
  if (commit === undefined)
    return {
      fault: `${repository} has no commit ${ref}; a git repository with a commit is needed`,
    };
  const log = ledger.openLog(setting.log);
  const { streams } = log;
  const supervisor = new Supervisor(streams, ledger.jobs);
  const parent = join(
    realpathSync(tmpdir()),
    `${WORKTREE_PREFIX}${randomBytes(8).toString("hex")}`,
  );
  const worktree = { repository, parent, directory: join(parent, "tree") };
  const { directory } = worktree;
  try {
    supervisor.removeWorktreeAtEnd(worktree);
    mkdirSync(parent, { mode: 0o700 });
    const argv = [...GIT, "-C", repository, "worktree", "add", "--detach", directory, commit];
    const bounds = { timeoutSec: CHECKOUT_BOUND_SEC, interrupt };
    const end = await runBounded(
      { argv, cwd: repository, env, streams, jobs: ledger.jobs, ...bounds },
      supervisor,
    );
    if (end.notStarted !== undefined) return { fault: end.notStarted };
    if (interrupt.aborted) return { fault: interruption(interrupt) };
    if (end.code !== 0) return { fault: `git could not check out ${commit} into a worktree` };
    return await use({ directory, commit, supervisor, log });
  } finally {
    await supervisor.close();
    // The supervisor itself was killed, so its last duty falls to this program.
    if (existsSync(parent)) removeWorktree(worktree, commandEnvironment(process.env));
    log.close();
  }
}

/** git without the repository's hooks: a hook that runs at checkout isn't part of the check. */
const GIT = ["git", "-c", "core.hooksPath=/dev/null"];

function commitOf(repository: string, ref: string, env: NodeJS.ProcessEnv): string | undefined {
  const asks = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${ref}^{commit}`];
  const { code, out } = runAtOnce(["git", "-C", repository, ...asks], env);
  return code === 0 ? out.trim() : undefined;
}
