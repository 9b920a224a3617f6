import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers/promises";
import { afterAll, beforeAll } from "vitest";

/** How much sooner. */
const TIMES = 20;

/**
 * Lets what looks again after a second or two do so much sooner, in the tests of the file that
 * calls this. Times that end something by a signal stay as they are.
 */
export function lookSooner(): void {
  const { setTimeout: sleep } = timers;
  beforeAll(() => {
    timers.setTimeout = (milliseconds = 0, value, options) =>
      sleep(options === undefined ? milliseconds / TIMES : milliseconds, value, options);
    syncBuiltinESMExports();
  });
  afterAll(() => {
    timers.setTimeout = sleep;
    syncBuiltinESMExports();
  });
}
