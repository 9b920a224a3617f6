import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nonsenseIn, turnMarkIn } from "../../../cli/rules/sense";

describe("a text without sense", () => {
  it.each([
    ["'s's's't's's's's's's's't's's's's's's'tilde's's's'ts", "one fragment again and again (`'s`)"],
    ["!".repeat(40), "one character again and again (`!`)"],
    ["\ufffd a\ufffd\ufffd z\ufffd \ufffdbc\ufffd dddd e", "broken characters"],
    [". , ; : - . ( ) ! ? . ,", "no words at all"],
    ["ovision สวัสดี пример 寝る العربية שלום", "letters of 6 writings in one answer"],
  ])("%s", (text, how) => {
    expect(nonsenseIn(text)).toBe(how);
  });

  it.each([
    "Hello!",
    "9.9 is larger than 9.11.",
    "The first code is QX-01ABCD.\nThe last code is QX-01ABCE.",
    "QX-01ABCD, QX-01ABCE",
    "你好！很高兴见到你，今天有什么可以帮你的吗？",
    "Привет! Hello in one word is: こんにちは。",
    "สวัสดีครับ ยินดีต้อนรับสู่เซิร์ฟเวอร์",
    "The file /etc/hostname says: spark-1 (127.0.0.1).",
    "👋👋👋",
  ])("is not %s", (text) => {
    expect(nonsenseIn(text)).toBeUndefined();
  });

  it("may go round in words where it was cut off: that model doesn't end", () => {
    const loop = `the river runs past${" the".repeat(60)}`;
    expect(nonsenseIn(loop, true)).toBeUndefined();
    expect(nonsenseIn(loop)).toMatch(/again and again/);
    expect(nonsenseIn("!".repeat(500), true)).toMatch(/again and again/);
  });

  it("is judged in a moment, however long it is", () => {
    const started = performance.now();
    expect(nonsenseIn("a1-".repeat(2_000_000))).toMatch(/again and again/);
    expect(performance.now() - started).toBeLessThan(1000);
  });

  it("is whatever repeats a short fragment, however it begins", () => {
    const fragment = fc.stringMatching(/^[!-~]{1,10}$/);
    fc.assert(
      fc.property(fragment, fc.stringMatching(/^[a-z]{0,4}$/), (each, before) => {
        expect(nonsenseIn(`${before}${each.repeat(40)}`)).toMatch(/again and again/);
      }),
      { numRuns: 50 },
    );
  });
});

describe("a mark of a chat template", () => {
  it.each([
    ["Hello<|im_end|>\n<|im_start|>user", "<|im_end|>"],
    ["[INST] hello", "[INST]"],
    ["hello <end_of_turn>", "<end_of_turn>"],
    ["<think>a < b | c > d</think>", undefined],
  ])("%s", (text, mark) => {
    expect(turnMarkIn(text)).toBe(mark);
  });
});
