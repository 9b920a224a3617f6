import { expect, it } from "vitest";
import { judgeRecord } from "../../components/preflight/judgeRecord";
import { FAILED, UNDER_WAY } from "../fixtures/update";

const TRIED =
  "This stack file was tried on 2026-11-24 16:25 UTC and put back: dgx.b chat-tools failed (no tool was called). The stack file, its log and doctor's answer are in /home/me/.local/state/local-serving/failed-1. Change it, or try it again: `serving up --again` (plain pulumi: `LOCAL_SERVING_AGAIN=1 pulumi up`).";
const UNDER_WAY_SAID =
  "An update by `serving up --verified` has been under way since 2026-11-24 16:05 UTC (process 7 on spark), or was interrupted. `serving up` says which, and finishes it.";

it.each([
  ["settings that were put back", { failed: FAILED }, "bad", {}, [["refused", TRIED]]],
  ["other settings", { failed: FAILED }, "good", {}, []],
  ["the same, on purpose", { failed: FAILED }, "bad", { LOCAL_SERVING_AGAIN: "1" }, []],
  ["an update under way", { underWay: UNDER_WAY }, "new", {}, [["warned", UNDER_WAY_SAID]]],
  [
    "its own update",
    { underWay: UNDER_WAY, failed: FAILED },
    "bad",
    { LOCAL_SERVING_VERIFIED_UPDATE: "back" },
    [],
  ],
  ["a record that can't be read", { unreadable: "why" }, "bad", {}, [["warned", "why"]]],
])("the preflight judges %s", (_, record, fingerprint, env, expected) => {
  const found = judgeRecord(record, fingerprint, env);
  expect(found.map(({ verdict, message }) => [verdict, message])).toEqual(expected);
});
