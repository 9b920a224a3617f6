import { failedText } from "@local-serving/machines/update/sentences";
import { describe, expect, it } from "vitest";
import type { NamedResult } from "../../../cli/update/parts";
import { wayBack } from "../../../cli/update/wayBack";
import {
  leftText,
  nothingToPutBackText,
  notTheUpdateText,
  putBackText,
  staysText,
} from "../../../cli/update/words";
import { plan } from "../../../components/plan/plan";
import { stack } from "../../fixtures/machine";
import { UNDER_WAY } from "../../fixtures/update";

type Verified = Parameters<typeof wayBack>[0];

const DECIDED = { probe: "dgx.b chat-tools", detail: "no tool was called.", kept: "/kept" };
const result = (status: NamedResult["status"], fix = ""): NamedResult => ({
  ...{ id: "dgx.b health", name: "health", target: "x", status, detail: "seen", fix, seconds: 0 },
});

describe("how an update ended", () => {
  it("is put back, and what failed can be looked at", () => {
    expect(putBackText(DECIDED, "/verified.yaml", 28)).toBe(
      [
        "The update was put back: dgx.b chat-tools failed (no tool was called).",
        "What runs is the stack file that was verified last (/verified.yaml); the probes that passed before pass again (28).",
        "What failed is kept in /kept: the stack file, the logs, and what verify and doctor say.",
        "The stack file was not rewritten. Change it, or try it again: `serving up --again`.",
      ].join("\n"),
    );
  });

  it("is put back where nothing could be kept, and nothing was probed before", () => {
    const said = putBackText({ ...DECIDED, kept: "" }, "/verified.yaml", 0);
    expect(said).toContain("(/verified.yaml); no probe of it had passed before.");
    expect(said).toContain(
      "What failed could not be kept: none of your folders could be written to.",
    );
  });

  it("has another cause where what was put back fails, too", () => {
    expect(notTheUpdateText(DECIDED, { probe: "the engine", detail: "" }, "1 diagnosis.")).toBe(
      [
        "The update was put back: dgx.b chat-tools failed (no tool was called). What was put back fails, too: the engine failed.",
        "So the cause is not the update. What was put back stays as it is, and nothing is tried a second time.",
        "What failed is kept in /kept: the stack file, the logs, and what verify and doctor say.",
        "",
        "1 diagnosis.",
      ].join("\n"),
    );
  });

  it("does not rule the update out where data could not be put back", () => {
    const said = notTheUpdateText(DECIDED, { probe: "the engine", detail: "" }, "", false);
    expect(said).toContain("Data could not be put back, as said above: that may be why. What was");
    expect(said).not.toContain("not the update");
  });

  it("stays as it is where there is nothing to go back to", () => {
    expect(leftText(DECIDED, "")).toBe(
      "The update failed: dgx.b chat-tools failed (no tool was called). There is nothing to go back to, so it stays as it is.\nWhat failed is kept in /kept: the stack file, the logs, and what verify and doctor say.",
    );
    expect(nothingToPutBackText(UNDER_WAY, "no stack file is kept.")).toBe(
      "The update of 2026-11-24 16:05 UTC can't be put back: no stack file is kept. Nothing is under way any more; `serving up` applies the stack file as it is.",
    );
  });

  it("stays, with what was probed", () => {
    expect(staysText([result("pass"), result("skip")], [], true)).toBe(
      "The update is done, and every probe of what changed passed (1). The stack file is the one to go back to from now on.",
    );
    expect(staysText([], [], false)).toBe("The update is done. Nothing had to be probed.");
    const failed = [result("fail", "look")];
    expect(staysText(failed, failed, false)).toBe(
      "The update stays, but the stack file doesn't become the verified one: these probes fail, and did not pass before.\n  dgx.b health: seen\n    look",
    );
  });

  it("names what failed, with and without what was seen", () => {
    expect(failedText({ probe: "the engine", detail: "" })).toBe("the engine failed");
  });
});

describe("the way back", () => {
  const settings = stack();
  const planned = {
    kind: "planned",
    stack: { file: "/v.yaml", text: "", settings, plan: plan(settings, { home: "/home/me" }) },
    settings: "old",
  } as const satisfies Verified;
  const PLAIN = "To apply it without a way back: `serving up`. Nothing was changed.";
  const VERIFY =
    "Run `serving verify` with the stack file that is applied: it keeps the file that passes.";

  it.each<[string, Verified, string, boolean, unknown]>([
    ["is the verified stack file", planned, "new", true, { to: planned.stack }],
    [
      "is none where it has the same settings",
      planned,
      "old",
      true,
      {
        refuses: false,
        why: "The stack file that was verified last has the same settings. The changes come from the program or the machine, so there is no other stack file to go back to.",
      },
    ],
    [
      "is not needed where nothing is applied",
      { kind: "none" },
      "new",
      false,
      { refuses: false, why: "Nothing is applied yet, so there is nothing to go back to." },
    ],
    [
      "is missed where no stack file has passed",
      { kind: "none" },
      "new",
      true,
      {
        refuses: true,
        why: `No stack file has passed \`serving verify\` as a whole yet, so there is nothing to go back to. ${VERIFY} ${PLAIN}`,
      },
    ],
    [
      "is missed where this program can't apply it",
      { kind: "unplanned", file: "/v.yaml", faults: "v.yaml:3: x" },
      "new",
      true,
      {
        refuses: true,
        why: `The stack file that was verified last (/v.yaml) can't be applied by this program, so there is no way back:\nv.yaml:3: x\n${VERIFY} ${PLAIN}`,
      },
    ],
  ])("%s", (_, verified, now, isApplied, expected) => {
    expect(wayBack(verified, now, isApplied)).toEqual(expected);
  });
});
