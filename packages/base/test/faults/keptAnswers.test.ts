import { describe, expect, it } from "vitest";
import { keptAnswers } from "../../faults/keptAnswers";

describe("kept answers", () => {
  it("are given again without another look, `false` too", () => {
    const asked: string[] = [];
    const isLong = keptAnswers<boolean>(10);
    const ask = (text: string) =>
      isLong(text, () => {
        asked.push(text);
        return text.length > 3;
      });
    expect(["long text", "no", "long text", "no"].map(ask)).toEqual([true, false, true, false]);
    expect(asked).toEqual(["long text", "no"]);
  });

  it("are all forgotten where one more than the most comes", () => {
    const asked: string[] = [];
    const kept = keptAnswers<number>(2);
    for (const text of ["a", "b", "a", "c", "a"]) kept(text, () => asked.push(text));
    expect(asked).toEqual(["a", "b", "c", "a"]);
  });
});
