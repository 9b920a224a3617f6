import { spawnSync } from "node:child_process";
import { describe, it } from "vitest";

/** Tests that need the Pulumi CLI with its plugins, and no daemon. */
export function describeEngine(name: string, tests: () => void): void {
  const missing = spawnSync("pulumi", ["version"]).status === 0 ? undefined : "no pulumi on PATH";
  if (missing === undefined) {
    describe(name, tests);
  } else if (process.env.REQUIRE_ENGINE === "1") {
    describe(name, () => {
      it("has an engine", () => {
        throw new Error(missing);
      });
    });
  } else {
    describe.skip(`${name} (skipped: ${missing})`, tests);
  }
}
