import { spawnSync } from "node:child_process";
import { quoted } from "@local-serving/base/faults/shellWords";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

describe("a quoted word", () => {
  it("reaches a program as it is", () => {
    fc.assert(
      fc.property(
        fc.array(fc.stringMatching(/^[^\0]{0,20}$/), { minLength: 1, maxLength: 5 }),
        (words) => {
          const script = `printf '%s\\0' ${words.map(quoted).join(" ")}`;
          const run = spawnSync("dash", ["-c", script], { encoding: "utf8" });
          expect(run.stdout.split("\0").slice(0, -1)).toEqual(words);
        },
      ),
      { numRuns: 60 },
    );
  });
});
