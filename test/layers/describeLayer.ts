import { describe, it } from "vitest";

/**
 * Declares tests that need a part of the machine. Without it they are skipped and the reason is in
 * their name; with `REQUIRE_ENGINE=1` or `REQUIRE_DOCKER=1` the missing part is a failure.
 */
export function describeLayer(
  layer: "engine" | "docker",
  missing: string | undefined,
  name: string,
  tests: () => void,
): void {
  if (missing === undefined) {
    describe(name, tests);
    return;
  }
  const variable = `REQUIRE_${layer.toUpperCase()}`;
  if (process.env[variable] !== "1") {
    describe.skip(`${name} (skipped: ${missing})`, tests);
    return;
  }
  describe(name, () => {
    it(`has what ${variable}=1 requires`, () => {
      throw new Error(`${variable}=1, and ${missing}`);
    });
  });
}
