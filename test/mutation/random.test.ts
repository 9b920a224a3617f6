import { describe, expect, it } from "vitest";
import { type Drawn, draw, find, Population } from "../real/mutation/random/drawn";
import { isScript, scriptMutants } from "../real/mutation/random/scripts";

const tree = (files: Readonly<Record<string, string>>): Population =>
  new Population(Object.keys(files), (file) => files[file] ?? "");

const SHARE = `export function share(free: number) {\n  return free > 8 ? 0.25 : 0;\n}\n`;
const NAME = `export const name = () => "the name of the server";\n`;

const BEFORE = tree({ "components/share.ts": SHARE, "operate/name.ts": NAME });

/** Where these mutants of the tree before are now: file and changed text. */
function placesOf(drawn: readonly Drawn[], now: Population): (string | undefined)[] {
  return find(drawn, BEFORE, now).map((place) => {
    if (place === undefined) return undefined;
    return `${place.file}: ${now.inside(place.file, new Set([place.number])).replace(/\s+/g, " ")}`;
  });
}

const MORE: Drawn = {
  file: "components/share.ts",
  within: "share",
  from: "free > 8",
  to: "free >= 8",
};
const TEXT: Drawn = {
  file: "operate/name.ts",
  within: "name",
  from: '"the name of the server"',
  to: '""',
};

describe("a drawn mutant is found", () => {
  it("where it was, behind a switch of its own", () => {
    expect(placesOf([MORE], BEFORE)).toEqual([
      "components/share.ts: export function share(free: number) { return (__mutant(3) ? (free >= 8) : free > 8) ? 0.25 : 0; } ",
    ]);
  });

  it("in the file that its function went to", () => {
    const now = tree({
      "packages/memory/parts.ts": `const a = 1;\n${SHARE}`,
      "operate/name.ts": NAME,
    });
    expect(placesOf([MORE], now)).toEqual([
      expect.stringMatching(/^packages\/memory\/parts\.ts: /),
    ]);
  });

  it("in a function of another name, if its text is long or its file has the same name", () => {
    const renamed = SHARE.replace("share", "part");
    const now = tree({
      "base/share.ts": renamed,
      "cli/texts.ts": NAME.replace("name =", "called ="),
    });
    expect(placesOf([MORE, TEXT], now)).toEqual([
      expect.stringMatching(/^base\/share\.ts: /),
      expect.stringMatching(/^cli\/texts\.ts: /),
    ]);
  });

  it("nowhere, if its code is gone: a text that stood elsewhere before is other code", () => {
    const twice = tree({ "components/share.ts": SHARE, "harness/share.ts": SHARE });
    const now = tree({ "harness/share.ts": SHARE });
    expect(find([MORE], twice, now)).toEqual([undefined]);
    expect(
      placesOf([MORE], tree({ "components/other.ts": SHARE.replace("share", "part") })),
    ).toEqual([undefined]);
  });
});

it("the same seed draws the same mutants, a tenth of them from scripts", () => {
  const lines = Array.from({ length: 9 }, (_, line) => `say ${line}`).join("\n");
  const population = tree({ "components/a.ts": SHARE.repeat(4), "machines/b.sh": lines });
  const drawn = draw(population, 7, 10);
  expect(draw(population, 7, 10)).toEqual(drawn);
  expect(draw(population, 8, 10)).not.toEqual(drawn);
  expect(drawn.filter(({ file }) => file === "machines/b.sh")).toHaveLength(1);
});

describe("mutants of a script", () => {
  const changes = (file: string, text: string) =>
    scriptMutants(file, text).map(({ line, within, from, to }) => [line, within, from, to]);

  it("negate a condition, leave a command out and count one more", () => {
    const script =
      '# exit 1\nready() {\n  if [ -e "$1" ]; then\n    sleep 2 >&2\n  fi\n}\nready a\n';
    expect(changes("machines/a.sh", script)).toEqual([
      [3, "ready", 'if [ -e "$1" ]; then', 'if ! { [ -e "$1" ]; }; then'],
      [4, "ready", "sleep 2 >&2", ""],
      [4, "ready", "sleep 2 >&2", "sleep 3 >&2"],
      [7, "", "ready a", ""],
    ]);
  });

  it("leave Python's texts about functions alone", () => {
    const script =
      'def ready(path):\n    """Says 1.\n\n    No more.\n    """\n    while path:\n        return 1\n';
    expect(changes("machines/a.py", script)).toEqual([
      [6, "ready", "while path:", "while not (path):"],
      [7, "ready", "return 1", ""],
      [7, "ready", "return 1", "return 2"],
    ]);
  });

  it("are none where no script is left", () => {
    expect(isScript("a.sh", "if true; then\n:\nfi\n")).toBe(true);
    expect(isScript("a.sh", "if true; then\n:\n")).toBe(false);
    expect(isScript("a.py", "if True:\n    pass\n")).toBe(true);
    expect(isScript("a.py", "if True:\npass\n")).toBe(false);
  });
});
