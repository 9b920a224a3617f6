import { afterAll, beforeAll, beforeEach } from "vitest";
import { emptied } from "./client";
import { KEYS, type Rig, startRig } from "./rig";

/**
 * Hands a rig to the tests of a block, whose unit is started. Before each of them its servers behave
 * and none runs.
 */
export function withRig(take: (rig: Rig) => void): void {
  let rig: Rig | undefined;
  beforeAll(async () => {
    rig = await startRig();
    take(rig);
    rig.unit.start();
  });
  afterAll(() => rig?.close());
  beforeEach(async () => {
    rig?.declare();
    for (const key of KEYS) rig?.behave(key, {});
    if (rig) await emptied(rig);
  });
}
