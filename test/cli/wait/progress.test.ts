import { duration } from "@local-serving/base/units/duration";
import { describe, expect, it } from "vitest";
import { beforeContainer, type StartProgress } from "../../../cli/sees/phases";
import { progressLine, waitProgress } from "../../../cli/wait/progress";

describe("what a person sees of it", () => {
  it.each([
    [
      { phase: "loading weights", share: 0.6, note: "3 of 5 shards" },
      61,
      "1 min 1 s: loading weights [############........] 60 %, 3 of 5 shards (some minutes",
    ],
    [
      { phase: "compiling" },
      9,
      "9 s: compiling (10 to 15 minutes are normal at a first start, without a new line in the log: do not kill it)",
    ],
    [{ phase: "ready" }, 700, "11 min 40 s: ready"],
  ] as [StartProgress, number, string][])("%j", (progress, seconds, line) => {
    expect(progressLine(progress, seconds)).toContain(line);
  });

  it("counts whole seconds and minutes", () => {
    expect([duration(0.4), duration(59.9), duration(60), duration(3725)]).toEqual([
      "0 s",
      "59 s",
      "1 min 0 s",
      "62 min 5 s",
    ]);
  });

  it("is a line for each change and each minute where there is no terminal", () => {
    const lines: string[] = [];
    const show = waitProgress({ write: (text) => lines.push(text) }, "b");
    for (const seconds of [1, 3, 5, 40, 63, 65]) show({ phase: "compiling" }, seconds);
    show({ phase: "capturing graphs", share: 0.11 }, 66);
    show({ phase: "capturing graphs", share: 0.14 }, 67);
    show({ phase: "capturing graphs", share: 0.25 }, 68);
    expect(
      lines.map((line) => line.slice(0, line.indexOf(" (") < 0 ? -1 : line.indexOf(" ("))),
    ).toEqual([
      "b: 1 s: compiling",
      "b: 1 min 3 s: compiling",
      "b: 1 min 6 s: capturing graphs [##..................] 11 %",
      "b: 1 min 8 s: capturing graphs [#####...............] 25 %",
    ]);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for.
    expect(lines.join("")).not.toMatch(/[\u001b\r]/);
  });

  it("is a line a minute while only figures grow", () => {
    const lines: string[] = [];
    const show = waitProgress({ write: (text) => lines.push(text) }, "b");
    for (const [seconds, bytes] of [
      [0, 0],
      [2, 5e7],
      [4, 9e7],
      [6, 3e8],
      [65, 4e8],
    ] as const)
      show(beforeContainer(false, bytes), seconds);
    expect(lines.map((line) => /^b: [^,]+, [^,(]+?(?=,| \()/.exec(line)?.[0])).toEqual([
      "b: 0 s: waiting for the image, not here yet: it is being pulled",
      "b: 2 s: waiting for the image, not here yet; Docker is downloading",
      "b: 1 min 5 s: waiting for the image, not here yet; Docker is downloading",
    ]);
  });

  it("is one line that changes on a terminal, never wider than it", () => {
    const written: string[] = [];
    const show = waitProgress(
      { isTTY: true, columns: 40, write: (text) => written.push(text) },
      "b",
    );
    show({ phase: "compiling" }, 1);
    show({ phase: "compiling" }, 3);
    expect(written.map((text) => text.replace("\r\u001b[2K", "").length)).toEqual([39, 39]);
    expect(written.join("")).not.toContain("\n");
  });
});
