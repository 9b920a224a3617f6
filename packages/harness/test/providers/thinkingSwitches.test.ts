import { describe, expect, it } from "vitest";
import { BOTH_SWITCHES, nextSwitches, SWITCH_FIELDS } from "../../providers/chatProbe";

const T: typeof BOTH_SWITCHES = ["chat_template"];
const K: typeof BOTH_SWITCHES = ["thinking"];

describe("the switches that turn hidden reasoning off", () => {
  it("are those of the specification", () => {
    expect(SWITCH_FIELDS).toEqual({
      chat_template: { chat_template_kwargs: { enable_thinking: false } },
      thinking: { thinking: { type: "disabled" } },
    });
  });

  it.each([
    ["both go first", [], "", BOTH_SWITCHES],
    [
      "without `thinking` when the server names it",
      [BOTH_SWITCHES],
      "Unrecognized request argument: thinking",
      T,
    ],
    [
      "without the template's when it names that",
      [BOTH_SWITCHES],
      "extra field chat_template_kwargs",
      K,
    ],
    ["the template's alone when it names neither", [BOTH_SWITCHES], "bad request", T],
    [
      "the template's alone when it names both",
      [BOTH_SWITCHES],
      "thinking, chat_template_kwargs",
      T,
    ],
    ["`enable_thinking` is the template's", [BOTH_SWITCHES], "enable_thinking is unknown", K],
    ["then the other one", [BOTH_SWITCHES, T], "", K],
    ["then none", [BOTH_SWITCHES, T, K], "", []],
    ["then nothing is left", [BOTH_SWITCHES, T, K, []], "", undefined],
  ])("%s", (_, refused, complaint, expected) => {
    expect(nextSwitches(refused, complaint)).toEqual(expected);
  });
});
