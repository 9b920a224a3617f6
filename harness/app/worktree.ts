import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { commandEnvironment } from "./commandEnvironment";

/** A git worktree in a directory of its own, to be removed with that. */
export type Worktree = { readonly repository: string; readonly parent: string; readonly directory: string };

/** How the name of `parent` begins; what is called otherwise is never removed. */
export const WORKTREE_PREFIX = "serving-worktree-";

/** Removes a worktree and the directory around it. It is the supervisor's job, unless that was killed. */
export function removeWorktree({ repository, parent, directory }: Worktree): void {
  // Read-only directories inside would keep their content from being removed.
  spawnSync("chmod", ["-R", "u+rwX", parent], { stdio: "ignore" });
  rmSync(parent, { recursive: true, force: true });
  spawnSync("git", ["-C", repository, "worktree", "remove", "--force", "--force", directory], {
    env: commandEnvironment(process.env),
    stdio: "ignore",
  });
}
