import { expect } from "vitest";
import type { Update } from "./update";
import type { Workspace } from "./workspace";

/** Expects an update that came to its end. */
export const succeeded = (update: Update): void => expect(update.code, update.stdout).toBe(0);

/** Expects that neither a preview nor a refresh finds anything to do. */
export async function expectQuiet(workspace: Workspace): Promise<void> {
  for (const update of [await workspace.preview(), await workspace.refresh()])
    expect([update.code, update.steps], update.stdout).toEqual([0, []]);
}
