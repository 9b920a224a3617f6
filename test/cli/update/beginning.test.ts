import { expect, it } from "vitest";
import { type AskedUpdate, beginning } from "../../../cli/update/beginning";
import { FAILED, UNDER_WAY } from "../../fixtures/update";

const PLAIN: AskedUpdate = { settings: "new", verified: false, again: false };
const BEGUN =
  "An update by `serving up --verified` that began on 2026-11-24 16:05 UTC was interrupted: ";
const BUSY =
  "An update by `serving up --verified` has been under way since 2026-11-24 16:05 UTC (process 7 on spark). Nothing was changed: wait until it ends.";

it.each([
  ["nothing is known", {}, PLAIN, false, { kind: "plain" }],
  ["--verified is asked for", {}, { ...PLAIN, verified: true }, false, { kind: "verified" }],
  ["other settings were put back", { failed: FAILED }, PLAIN, false, { kind: "plain" }],
  [
    "these settings were put back, and it is said again",
    { failed: FAILED },
    { settings: "bad", verified: true, again: true },
    false,
    { kind: "verified" },
  ],
  ["an update is under way", { underWay: UNDER_WAY }, PLAIN, true, { kind: "refused", says: BUSY }],
  [
    "one is under way elsewhere",
    { underWay: UNDER_WAY },
    PLAIN,
    "unknown" as const,
    {
      kind: "refused",
      says: `${BUSY} From here it can't be seen whether it still runs: run \`serving up\` on that computer, which finishes it.`,
    },
  ],
  [
    "one was broken off before it touched anything",
    { underWay: { ...UNDER_WAY, step: "before" as const } },
    PLAIN,
    false,
    { kind: "untouched", says: `${BEGUN}nothing was touched yet. It begins anew.` },
  ],
  [
    "one was broken off on its way forward",
    { underWay: UNDER_WAY },
    PLAIN,
    false,
    {
      kind: "forward",
      same: true,
      underWay: UNDER_WAY,
      says: `${BEGUN}it was applying the stack file. This goes on with it.`,
    },
  ],
  [
    "one was broken off, and the stack file is another",
    { underWay: UNDER_WAY },
    { ...PLAIN, settings: "newer" },
    false,
    {
      kind: "forward",
      same: false,
      underWay: UNDER_WAY,
      says: `${BEGUN}it was applying the stack file. The stack file has other settings now: these are applied instead, and the same probes decide.`,
    },
  ],
  [
    "one was broken off on its way back",
    { underWay: { ...UNDER_WAY, step: "back" as const }, failed: FAILED },
    { ...PLAIN, settings: "bad" },
    false,
    {
      kind: "back",
      underWay: { ...UNDER_WAY, step: "back" },
      says: `${BEGUN}it was putting back the stack file that was verified last. This finishes putting it back.`,
    },
  ],
])("`serving up` where %s", (_, record, asked, lives, expected) => {
  expect(beginning(record, asked, lives)).toEqual(expected);
});

it("`serving up` refuses settings that were put back, with what to do", () => {
  const begins = beginning({ failed: FAILED }, { ...PLAIN, settings: "bad" }, false);
  expect(begins.kind).toBe("refused");
  expect("says" in begins && begins.says).toContain("try it again: `serving up --again`");
});
