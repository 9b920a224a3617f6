import { describe, expect, it } from "vitest";
import type { Picture, ProbeSeen } from "../../../cli/rules/picture";
import { SIGNS } from "../../../cli/rules/registry";
import { reportsOf } from "../../../cli/rules/report";
import { scanLog } from "../../../cli/sees/log/scanLog";

const TOO_LONG =
  "This model's maximum context length is 2048 tokens. However, you requested 4096 output tokens and your prompt contains 100 input tokens";
const DIED = "RuntimeError: the engine ran into a wall";

const logOf = (container: string, line: string) =>
  scanLog({ name: container, kind: "container", container }, [`${line}\n`], SIGNS);

/** Failed probes of a server that `verify` explained by this rule. */
const explained = (cause: string, target = "b"): ProbeSeen[] => {
  const said = { cause: `${cause} of ${target}.`, advice: "Do this.", command: "serving up" };
  const probe = { target, status: "fail", cause, fix: "" } as const;
  return [
    { ...probe, name: "chat", detail: "it went wrong", why: said },
    { ...probe, name: "needle", detail: "so did this" },
  ];
};

const ids = (picture: Picture) => reportsOf(picture).map(({ id }) => id);

describe("what `verify` found", () => {
  it("is what doctor says, in the same words", () => {
    expect(reportsOf({ logs: [], probes: explained("other-window") })).toEqual([
      expect.objectContaining({
        id: "other-window",
        severity: "trouble",
        cause: "other-window of b.",
        evidence: "probe chat: it went wrong",
        change: "Do this.",
        command: "serving up",
        target: "b",
        probes: ["chat", "needle"],
      }),
    ]);
  });

  it("is said of each server", () => {
    const probes = [...explained("other-window"), ...explained("other-window", "c")];
    const reports = reportsOf({ logs: [], probes });
    expect(reports.map(({ target, cause }) => [target, cause])).toEqual([
      ["b", "other-window of b."],
      ["c", "other-window of c."],
    ]);
  });

  it("isn't contradicted by the log of that server, but by another's", async () => {
    const probes = explained("other-window");
    expect(ids({ logs: [await logOf("b", TOO_LONG)], probes })).toEqual(["other-window"]);
    expect(ids({ logs: [await logOf("c", TOO_LONG)], probes })).toEqual([
      "other-window",
      "window-exceeded",
    ]);
  });

  it("stands before the probes that it doesn't explain", () => {
    const other = { name: "window", target: "b", status: "fail", detail: "200", fix: "" } as const;
    const [first, second, ...more] = reportsOf({
      logs: [],
      probes: [...explained("other-window"), other],
    });
    expect([first?.id, second?.id, second?.evidence, more]).toEqual([
      "other-window",
      "probe-failed",
      "probe window: 200",
      [],
    ]);
  });

  it("is left out where it only says where to look, and the log says more", async () => {
    const probes = explained("engine-died");
    expect(ids({ logs: [], probes })).toEqual(["engine-died"]);
    expect(
      ids({ logs: [await logOf("b", `Traceback (most recent call last):\n${DIED}`)], probes }),
    ).toEqual(["engine-said", "probe-failed"]);
    const log = await logOf("b", "CUDA error: an illegal memory access was encountered");
    expect(ids({ logs: [log], probes })).toEqual(["cuda-illegal-access"]);
  });
});
