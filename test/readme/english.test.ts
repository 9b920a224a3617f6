import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "english-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Text with blanks for `_`: this file is judged itself, so it spells no phrase out. */
const spaced = (text: string): string => text.replaceAll("_", " ");

/** What `npm run english` says of these files. */
function judged(files: Readonly<Record<string, string>>) {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), spaced(text));
  }
  const { status, stdout, stderr } = spawnSync(process.execPath, [".ci/english.cjs", folder], {
    encoding: "utf8",
  });
  return { status, said: (stdout + stderr).replaceAll(`${folder}/`, "").split("\n").slice(0, -1) };
}

describe("phrases that are no English", () => {
  it("are each refused, with their place and what to write instead", () => {
    const text = [
      "viable_by the figures",
      "what speaks_against it",
      "what the schema has_against it",
      "`undefined` where_that_has none",
      "no_more_than_what is there",
      "Said. Of_a server the log.",
      "Of_what was applied nothing.",
      "Of_its environment one variable.",
    ];
    const { status, said } = judged({ "docs/page.md": text.join("\n") });
    expect(status).toBe(1);
    const known = /^docs\/page\.md:(\d+: `.+`) is not English\. Write instead: .+\.$/;
    expect(said.map((line) => known.exec(line)?.[1]).sort()).toEqual(
      [
        "1: `viable_by`",
        "2: `speaks_against`",
        "3: `has_against`",
        "4: `where_that_has`",
        "5: `no_more_than_what`",
        "6: `Of_a`",
        "7: `Of_what`",
        "8: `Of_its`",
      ].map(spaced),
    );
  });

  it("are found over the end of a comment's line, at the line where they begin", () => {
    const code = "/**\n * It is viable_\n * by_the figures.\n */\n// Of\n// a server the log.\n";
    expect(judged({ "a.ts": code }).said).toEqual([
      spaced("a.ts:2: `viable_by` is not English. Write instead: say that it should fit, or why."),
      spaced(
        "a.ts:5: `Of_a` is not English. Write instead: begin with the subject: `The log of a server is`.",
      ),
    ]);
  });

  it("are not what reads alike, nor what others have written", () => {
    const { status, said } = judged({
      "a.ts":
        "// The log of a server, of its start; Of another; it is viable. By then a schema has nothing against it.\n",
      "node_modules/b.md": "Of_a package.\n",
      "golden/c.md": "Of_a file.\n",
      "d.json": '"Of_a text"\n',
    });
    expect([status, said]).toEqual([0, []]);
  });
});
