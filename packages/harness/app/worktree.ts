/** A git worktree in a directory of its own, to be removed with that. */
export type Worktree = {
  readonly repository: string;
  readonly parent: string;
  readonly directory: string;
};

/** How the name of `parent` begins; what is called otherwise is never removed. */
export const WORKTREE_PREFIX = "serving-worktree-";

/**
 * Removes a worktree and the directory around it, by git in this environment. It is the
 * supervisor's job, which gets this function as text: it uses nothing from outside itself. If the
 * supervisor was killed, it falls to this program.
 */
export function removeWorktree(
  { repository, parent, directory }: Worktree,
  env: NodeJS.ProcessEnv,
): void {
  const { spawnSync } = process.getBuiltinModule("node:child_process");
  const { rmSync } = process.getBuiltinModule("node:fs");
  // Read-only directories inside would keep their content from being removed.
  spawnSync("chmod", ["-R", "u+rwX", parent], { stdio: "ignore" });
  rmSync(parent, { recursive: true, force: true, maxRetries: 3 });
  const remove = ["worktree", "remove", "--force", "--force", directory];
  spawnSync("git", ["-C", repository, ...remove], { env, stdio: "ignore" });
}
