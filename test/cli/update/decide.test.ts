import { describe, expect, it } from "vitest";
import { decide, type UpdateSeen } from "../../../cli/update/decide";
import type { NamedResult } from "../../../cli/update/parts";
import type { WaitedOn } from "../../../cli/wait/waitForServer";

const probe = (id: string, status: NamedResult["status"] = "pass"): NamedResult => ({
  ...{ id, status, detail: `${id}: seen`, name: "", target: "", fix: "", seconds: 1 },
});
const waited = (outcome: WaitedOn["outcome"], reason = "", cause = "") => ({
  part: "dgx.b",
  result: {
    ...{ outcome, reason, cause, container: "x", machine: "dgx" },
    ...{ seconds: 1, phase: "starting" as const, lastLines: [] },
  },
});
const GOOD: UpdateSeen = {
  engine: { code: 0, touched: true },
  waited: [waited("ready")],
  passed: ["dgx.b health", "dgx.b chat-tools"],
  after: [probe("dgx.b health"), probe("dgx.b chat-tools")],
};
const back = (probe: string, detail: string) => ({ kind: "back", why: { probe, detail } });

describe("an update", () => {
  it.each<[string, Partial<UpdateSeen>, unknown]>([
    ["stays where all passes", {}, { kind: "stays", failed: [] }],
    [
      "is merely refused where the engine touched nothing",
      { engine: { code: 255, touched: false }, waited: [], after: [] },
      { kind: "refused", code: 255 },
    ],
    [
      "goes back where the engine failed half way",
      { engine: { code: 255, touched: true }, waited: [], after: [] },
      back("the engine", "it ended with exit code 255 half way"),
    ],
    [
      "goes back where something died, with its last word",
      { waited: [waited("ready"), waited("died", "it ended with exit code 1", "ValueError: x")] },
      back("the start of dgx.b", "it ended with exit code 1: ValueError: x"),
    ],
    [
      "goes back where something was not ready in time",
      { waited: [waited("timeout", "not ready after 60 s (starting)")], after: [] },
      back("the start of dgx.b", "not ready after 60 s (starting)"),
    ],
    [
      "goes back where a probe fails that passed before",
      { after: [probe("dgx.b health"), probe("dgx.b chat-tools", "fail")] },
      back("dgx.b chat-tools", "dgx.b chat-tools: seen"),
    ],
    [
      "goes back where what a probe counted has fallen by more than a tenth",
      {
        figures: { "dgx.b kv-cache": 7.5 },
        after: [{ ...probe("dgx.b kv-cache"), figure: 6.74 }],
      },
      back("dgx.b kv-cache", "dgx.b kv-cache: seen; it was 7.5 before"),
    ],
    [
      "stays where it has fallen by less, or what it was is not known",
      {
        figures: { "dgx.b kv-cache": 7.5, "dgx.d kv-cache": 3 },
        after: [
          { ...probe("dgx.b kv-cache"), figure: 6.76 },
          { ...probe("dgx.c kv-cache"), figure: 0.1 },
          probe("dgx.d kv-cache"),
        ],
      },
      { kind: "stays", failed: [] },
    ],
    [
      "stays where a probe fails that failed before, and says so",
      { passed: ["dgx.b health"], after: [probe("dgx.b chat-tools", "fail")] },
      { kind: "stays", failed: [probe("dgx.b chat-tools", "fail")] },
    ],
    [
      "stays where a probe that is new fails",
      { after: [probe("dgx.c health", "fail")] },
      { kind: "stays", failed: [probe("dgx.c health", "fail")] },
    ],
    [
      "stays where a probe that passed before is skipped",
      { after: [probe("dgx.b health", "skip")] },
      { kind: "stays", failed: [] },
    ],
    [
      "goes back by what passed before, also behind what failed before",
      {
        passed: ["dgx.b chat-tools"],
        after: [probe("dgx.b health", "fail"), probe("dgx.b chat-tools", "fail")],
      },
      back("dgx.b chat-tools", "dgx.b chat-tools: seen"),
    ],
  ])("%s", (_, seen, expected) => {
    expect(decide({ ...GOOD, ...seen })).toEqual(expected);
  });
});
