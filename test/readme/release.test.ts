import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { notesOf } from "../../.ci/notes.cjs";
import { version } from "../../package.json";
import { run } from "../layers/run";

const CHANGELOG =
  "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-11-24\n\n### Added\n\n- A\n\n## [0.1.0] - 2026-11-22\n\n- B\n";

describe("the notes of a release", () => {
  it("are its section of the changelog", () => {
    expect(notesOf(CHANGELOG, "0.2.0")).toBe("### Added\n\n- A");
    expect(notesOf(CHANGELOG, "0.1.0")).toBe("- B");
  });

  it("are none without a section, a date or a text", () => {
    for (const none of ["0.3.0", "Unreleased", "0.2", ""])
      expect(notesOf(CHANGELOG, none)).toBeUndefined();
    expect(notesOf("## [0.3.0] - 2026-12-01\n\n", "0.3.0")).toBeUndefined();
  });

  it("never hold another section", () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (lines) => {
        const text = lines.map((line) => `- ${line.replaceAll("\n", "")}`).join("\n");
        const notes = notesOf(`## [1.0.0] - D\n${text}\n## [0.9.0] - D\n\n- old\n`, "1.0.0");
        expect(notes ?? "").not.toContain("- old");
      }),
    );
  });

  it("are refused for a version that package.json doesn't have", async () => {
    expect(await run("node", [".ci/notes.cjs", "9.9.9"])).toMatchObject({
      code: 1,
      stderr: `package.json has ${version}, not 9.9.9.\n`,
    });
  });
});

it("every night all parts of the real programs run, but those that need a daemon of their own", () => {
  const nightly = parse(readFileSync(".github/workflows/nightly.yml", "utf8"));
  const config = readFileSync("test/vitest.real.config.mts", "utf8");
  const parts = [...config.matchAll(/name: "([a-z-]+)"/g)].map(([, name]) => name);
  expect([...nightly.jobs.real.strategy.matrix.part, "with-layers"].sort()).toEqual(parts.sort());
});
