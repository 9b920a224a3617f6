import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { UnreadableInput } from "@local-serving/base/faults/fault";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyCharacter } from "../../../../test/layers/anyCharacter";
import { checkAutomation } from "../../automation/checkAutomation";
import { template } from "../../templates/template";
import { checkYaml, directoryWith, wholeConfig } from "./scene";

const unreadable = (name: string, text: string): UnreadableInput => {
  const file = join(directoryWith({ [name]: text }), name);
  try {
    checkAutomation({ config: file }, {});
  } catch (error) {
    if (error instanceof UnreadableInput) return error;
    throw error;
  }
  throw new Error("it was read");
};

describe("refused with the place", () => {
  test.each([
    [
      "duplicate keys",
      "a.yaml",
      "review:\n  max_rounds: 1\n  max_rounds: 2\n",
      "the key `max_rounds` is given twice in one map",
      3,
      3,
    ],
    [
      "duplicate keys in JSON",
      "a.json",
      '{"caps": {},\n "caps": {}}',
      "the key `caps` is given twice in one map",
      2,
      2,
    ],
    [
      "duplicate keys deep inside a free block",
      "a.yaml",
      "build:\n  - {a: 1, a: 2}\n",
      "the key `a` is given twice in one map",
      2,
      12,
    ],
    [
      "several documents",
      "a.yaml",
      "review: {}\n---\ncaps: {}\n",
      "holds several YAML documents; one is expected",
      2,
      1,
    ],
    ["text that is not YAML", "a.yaml", "caps: [1\nreview: x", "not valid YAML", 2, 1],
    ["an alias without its anchor", "a.yaml", "caps: *nothing\n", "unusable YAML", 1, 7],
    ["an alias bomb", "a.yaml", bomb(), "unusable YAML", 3, 12],
    [
      "an alias of the block that it is in",
      "a.yaml",
      "caps: {}\nbuild: &b\n  again: [1, *b]\n",
      "unusable YAML: the alias `b` is inside the node it refers to",
      3,
      14,
    ],
    [
      "a tag of another program",
      "a.yaml",
      "caps: {}\nprofile: !Sub pr\n",
      "unusable YAML: the tag `!Sub` has no meaning here",
      2,
      10,
    ],
    [
      "a Python object",
      "a.yaml",
      "build: !!python/object/apply:os.system [ls]\n",
      "has no meaning here",
      1,
      8,
    ],
    ["a list of pairs", "a.yaml", "!!omap\n- test: {}", "has no meaning here", 1, 1],
    ["a set of keys", "a.yaml", "!!set {test, more}", "has no meaning here", 1, 1],
    ["a date", "a.yaml", "!!timestamp 2026-01-01", "has no meaning here", 1, 1],
    [
      "an ordered map in the place of a block",
      "a.yaml",
      "caps: {}\nreview: !!omap [max_rounds: 0]\n",
      "unusable YAML: the tag `!!omap` has no meaning here",
      2,
      9,
    ],
    ["an empty file", "a.yaml", "", "the file is empty", 1, 1],
    ["nothing but a comment", "a.yaml", "# later\n", "the file is empty", 1, 1],
    ["YAML in a .json file", "a.json", "{}\n# comment", "is not JSON from here on", 2, 1],
    ["a comma too many in JSON", "a.json", '{"caps": {},}', "is not JSON from here on", 1, 13],
  ])("%s", (_, name, text, reason, line, column) => {
    const error = unreadable(name, text);
    expect(error.reason).toContain(reason);
    expect(error.place).toEqual({ line, column });
  });
  test.each([
    ["an empty file", "", "the file is empty"],
    ["10 MB", `build: {x: "${"x".repeat(10_000_000)}"}`, "is larger than 1048576 bytes"],
    [
      "10,000 levels of lists",
      `build: ${"[".repeat(10_000)}${"]".repeat(10_000)}`,
      "nests deeper than 200 levels",
    ],
    ["10,000 levels, never closed", `build: ${"[".repeat(10_000)}`, "nests deeper than 200 levels"],
    [
      "10,000 levels of maps",
      `build: ${"{a: ".repeat(10_000)}1${"}".repeat(10_000)}`,
      "nests deeper than 200 levels",
    ],
    ["10,000 levels of dashes", `build:\n${"- ".repeat(10_000)}x`, "nests deeper than 200 levels"],
    ["10,000 question marks", "? ".repeat(10_000), "nests deeper than 200 levels"],
    ["bytes that are no text", "\u{d800}", "is not UTF-8 text"],
  ])("%s is answered in bounded time", (name, text, reason) => {
    if (name.startsWith("bytes")) {
      const directory = directoryWith({ "a.yaml": "" });
      writeFileSync(join(directory, "a.yaml"), Buffer.from([0xff, 0xfe, 0x80]));
      expect(() => checkAutomation({ config: join(directory, "a.yaml") }, {})).toThrow(reason);
    } else expect(unreadable("a.yaml", text).reason).toContain(reason);
  });
  test("a file without end", () => {
    expect(() => checkAutomation({ config: "/dev/zero" }, {})).toThrow(
      "is larger than 1048576 bytes",
    );
  });
  test("20,000 unknown keys are all reported, in bounded time", () => {
    const text = Array.from({ length: 20_000 }, (_, index) => `key${index}: 1`).join("\n");
    expect(checkYaml(text).issues).toHaveLength(20_000);
  });
});

test("anchors, aliases and plain tags are read", () => {
  const { issues, resolved } = checkYaml(
    "build: &b {a: &b 1, again: *b}\nmerge: *b\nprofile: !!str pr\nreview: {max_rounds: !!int '4'}\n",
  );
  expect(issues).toMatchObject([{ path: "merge", code: "wrong_type" }]);
  expect(resolved).toBe(null);
  expect(checkYaml("build: &b {a: 1}\nmerge: *b\n").resolved).toMatchObject({
    build: { a: 1 },
    merge: { a: 1 },
  });
});

test("keys of the prototype are keys like others", () => {
  const { issues } = checkYaml("__proto__: {a: 1}\nconstructor: 1\ntoString: 2\n");
  expect(issues.map(({ path, code }) => `${path} ${code}`)).toEqual([
    "__proto__ unknown_key",
    "constructor unknown_key",
    "toString unknown_key",
  ]);
  expect({}).not.toHaveProperty("a");
});

test("the template is valid, and so is all of it uncommented", () => {
  expect(checkYaml(template("automation")).issues).toEqual([]);
  const all = template("automation")
    .split("\n")
    .map((line) => line.replace(/^# (?=[a-z ])/, ""))
    .filter((line) => /^\s*[a-z_0-9]+:/.test(line));
  const { issues, resolved } = checkYaml(all.join("\n"));
  expect(issues).toEqual([]);
  expect(Object.keys(resolved?.verification ?? {}).sort()).toEqual([
    "app",
    "conformance",
    "coverage",
    "visual",
  ]);
  expect(resolved?.unattended?.budget?.estimate_usd_per_invocation).toBe(2);
});

describe("fuzzing", () => {
  const SECRET = "sk-5ecret-value";
  test("any text is checked or refused: no crash, no hang", () => {
    const fragment = fc.constantFrom(
      "a: ",
      "- ",
      "{",
      "}",
      "[",
      "]",
      "&a ",
      "*a",
      "\n",
      "  ",
      "|",
      ">",
      "'",
      '"',
      "!!x ",
      "---\n",
      "#",
      "verification:",
      "\t",
      "? ",
      ":",
      "\0",
    );
    const text = fc.oneof(
      fc.string(),
      fc.string({ unit: anyCharacter }),
      fc.array(fragment).map((all) => all.join("")),
      fc.json(),
    );
    fc.assert(
      fc.property(text, (written) => {
        try {
          const check = checkYaml(written);
          expect(check.valid).toBe(check.resolved !== null);
        } catch (error) {
          expect(error).toBeInstanceOf(UnreadableInput);
        }
      }),
      { numRuns: 150 },
    );
  });
  test("a whole config with anything anywhere is answered, and no text value is in any message", () => {
    const paths = leaves(wholeConfig());
    const anything = fc.oneof(
      fc.constant(SECRET),
      fc.constant([SECRET]),
      fc.constant({ a: SECRET }),
      fc.constant(null),
      fc.double(),
      fc.boolean(),
    );
    fc.assert(
      fc.property(fc.constantFrom(...paths), anything, (path, value) => {
        const config = wholeConfig();
        let map = config as unknown as Record<string, unknown>;
        for (const step of path.slice(0, -1)) map = map[step] as Record<string, unknown>;
        map[path.at(-1) ?? ""] = value;
        const { issues } = checkYaml(JSON.stringify(config));
        expect(JSON.stringify(issues)).not.toContain(SECRET);
        for (const { line, column } of issues)
          expect([line, column].every((at) => Number(at) >= 1)).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});

function leaves(value: unknown, path: readonly string[] = []): string[][] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [[...path]];
  return [
    ...(path.length === 0 ? [] : [[...path]]),
    ...Object.entries(value).flatMap(([key, inner]) => leaves(inner, [...path, key])),
  ];
}

/** Nine lists, each of nine aliases of the one before. */
function bomb(): string {
  const lists = Array.from({ length: 9 }, (_, index) =>
    index === 0
      ? "  a0: &a0 [x, x, x, x, x, x, x, x, x]"
      : `  a${index}: &a${index} [${Array(9)
          .fill(`*a${index - 1}`)
          .join(", ")}]`,
  );
  return `build:\n${lists.join("\n")}\n`;
}
