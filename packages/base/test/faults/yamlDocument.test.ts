import { describe, expect, it } from "vitest";
import { UnreadableInput } from "../../faults/fault";
import { parseYaml } from "../../faults/yamlDocument";

const read = (text: string) => parseYaml("a.yaml", text).value;

function refusal(text: string): string {
  try {
    parseYaml("a.yaml", text);
  } catch (error) {
    if (error instanceof UnreadableInput) return error.message;
    throw error;
  }
  return "";
}

describe("a directive", () => {
  it.each([
    ["%YAML 1.1\n---\na: yes\nb: 010\n", "a.yaml:1:1: the directive `%YAML 1.1` "],
    ["# a\n\n%YAML 1.1 # b\n---\na: 1\n", "a.yaml:3:1: the directive `%YAML 1.1` "],
    ["\ufeff%YAML 1.1\r\n---\r\na: 1\r\n", "a.yaml:1:1: the directive `%YAML 1.1` "],
    ["%YAML 1.2\n%YAML 1.1\n---\na: 1\n", "a.yaml:2:1: the directive `%YAML 1.1` "],
    ["%YAML 1.3\n---\na: 1\n", "a.yaml:1:1: the directive `%YAML 1.3` "],
    ["%TAG ! tag:yaml.org,2002:\n---\na: !int '1'\n", "a.yaml:1:1: the directive `%TAG` "],
    ["%ANY thing\n---\na: 1\n", "a.yaml:1:1: the directive `%ANY thing` "],
  ])("is refused with its line: %j", (text, message) => {
    expect(refusal(text)).toBe(
      `${message}makes YAML readers disagree about the values in the file: remove this line`,
    );
  });

  it.each([
    ["%YAML 1.2\n---\na: yes\n", { a: "yes" }],
    ["\ufeff# a\n%YAML 1.2\t# b\n---\na: 1\n", { a: 1 }],
    ["a: |\n  x\n  %YAML 1.1\n", { a: "x\n%YAML 1.1\n" }],
    ["a: 1\n# %YAML 1.1\n", { a: 1 }],
    ["a: '%YAML 1.1'\n", { a: "%YAML 1.1" }],
  ])("is none, or says what holds anyway: %j", (text, value) => {
    expect(read(text)).toEqual(value);
  });
});

describe("more than a person writes", () => {
  const lines = (count: number, line: (index: number) => string) =>
    Array.from({ length: count }, (_, i) => line(i)).join("");

  it("is refused before it is parsed, with the line", () => {
    const most = lines(20_000, (index) => `key${index}: 1\n`);
    expect(Object.keys(read(most) as object)).toHaveLength(20_000);
    expect(refusal(most + lines(10_000, (index) => `more${index}: 1\n`))).toMatch(
      /^a\.yaml:\d{5}:1: holds more than 150000 words and signs; a configuration file has a few thousand$/,
    );
    for (const [head, piece] of [
      ["a: [", ","],
      ["a: [", "1,"],
      ["", "%\n"],
      ["", "}\n"],
      ["", "---\n"],
      ["", 'a: "'],
      ["", "!a "],
      ["", ":\n"],
      ["a:\n", "#\n"],
    ] as const)
      expect(refusal(head + piece.repeat(500_000 / piece.length)), piece).toMatch(
        /holds more than|the directive/,
      );
  });

  it("is refused where its indentation goes too deep", () => {
    const steps = (count: number) => lines(count, (index) => `${" ".repeat(index)}a:\n`);
    expect(refusal(steps(202))).toBe("a.yaml:202:1: nests deeper than 200 levels");
    expect(read(`${steps(100)}${steps(100).replace("a", "b")}`)).toHaveProperty("b");
  });

  it("is refused by the number of its aliases", () => {
    const aliases = (count: number) => lines(count, (index) => `- &a${index} x\n- *a${index}\n`);
    expect(read(aliases(1000))).toHaveLength(2000);
    expect(refusal(aliases(1001))).toBe(
      "a.yaml:2002:3: unusable YAML: it has more than 1000 aliases",
    );
  });

  it("quotes a word of any length in part", () => {
    expect(refusal(`a: 0${"1".repeat(500_000)}\n`).length).toBeLessThan(2100);
  });

  it("quotes neither the name behind a `*` nor a long number, which may be a password", () => {
    expect(refusal("password: *hunter2\n")).toBe(
      "a.yaml:1:11: unusable YAML: Unresolved alias (the anchor must be set before the alias)",
    );
    expect(refusal("a: 010\n")).toBe(
      "a.yaml:1:4: `010` begins with a zero, so some YAML readers read another number: write `10`, or put it in quotes if it is text",
    );
    expect(refusal("a: 012345678\n")).toBe(
      "a.yaml:1:4: this number begins with a zero, so some YAML readers read another number: write it without, or put it in quotes if it is text",
    );
  });

  it("leaves the stack traces of others as they were", () => {
    const { stackTraceLimit } = Error;
    expect(refusal("a: [1\n")).toContain("not valid YAML");
    expect(Error.stackTraceLimit).toBe(stackTraceLimit);
  });
});

it("a key that is a list or a map is refused", () => {
  expect(refusal("a: 1\n? [b]\n: c\n")).toBe(
    "a.yaml:2:3: unusable YAML: a key must be text, but this one is a list or a map",
  );
  expect(refusal("{a: 1}: 2\n")).toContain("a.yaml:1:1: unusable YAML: a key must be text");
  expect(read("? a\n: b\n1: c\n")).toEqual({ a: "b", 1: "c" });
});

it("an anchor that is given again means the later node, as the alias does", () => {
  expect(read("- &a 1\n- &a [2]\n- *a\n")).toEqual([1, [2], [2]]);
});
