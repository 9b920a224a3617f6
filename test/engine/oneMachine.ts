import { expect } from "vitest";
import type { StackParts } from "./stackConfig";
import type { Workspace } from "./workspace";

/** Applies a program of one machine, whose outputs are its own, and whose next preview is empty. */
export async function expectOneMachine(
  workspace: Workspace,
  { portB }: Pick<StackParts, "portB">,
): Promise<void> {
  const up = await workspace.up();
  expect(up, up.stdout + up.stderr).toMatchObject({ code: 0 });
  expect(await workspace.outputs()).toMatchObject({
    endpoints: { dgx: { b: `http://127.0.0.1:${portB}/v1` } },
    memory: { dgx: { aggregateUtilization: 0.02 } },
    clients: { dgx: { codex: expect.stringContaining("codex") } },
  });
  const again = await workspace.preview("--diff");
  expect(again.steps, again.stdout).toEqual([]);
}
