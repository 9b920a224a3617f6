import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { bundledHarness } from "../../../../test/cli/harness/bundledServing";
import { endProcessesWith, eventually, processesWith } from "../processes";
import { appGroup, evaluating, report, run, type Scene, scene, slowEvaluator } from "./scene";

vi.setConfig({ testTimeout: 40_000 });

const supervisorOf = (leader: number) =>
  Number(readFileSync(`/proc/${leader}/stat`, "utf8").split(") ")[1]?.split(" ")[1]);
const running = ({ directory }: Scene) => readdirSync(join(directory, ".hx/ledger/running"));

describe.concurrent("a process that left the app's group by a session of its own", () => {
  test("is stopped with the app: TERM first, KILL after stop_timeout_sec", async () => {
    const place = await scene("escapes=1 stubborn=1");
    const finished = await run(place, "true").finished;
    expect(report(finished)).toMatchObject({ verdict: "pass", endedBy: "term" });
    // A shell and its two sleeps, twice.
    expect(JSON.parse(finished.stdout).states.at(-1)).toMatchObject({
      state: "stopped",
      because: "its process group ended on TERM, and 6 that had left it were stopped too",
    });
    expect(processesWith(place.marker)).toEqual([]);
    expect(running(place)).toEqual([]);
  });

  test("is left alone when it was started without the mark", async () => {
    const place = await scene("outlives");
    const finished = await run(place, "true").finished;
    const left = processesWith(place.marker);
    endProcessesWith(place.marker);
    expect(report(finished)).toMatchObject({ verdict: "pass" });
    expect(left).toEqual([expect.stringContaining("300_000")]);
  });

  test("is stopped when the app ends by itself", async () => {
    const place = await scene("slow=60000 stubborn=1 dies-after=200");
    const finished = await run(place, "true").finished;
    expect(report(finished)).toMatchObject({ verdict: "fail", endedBy: "itself" });
    expect(processesWith(place.marker)).toEqual([]);
  });

  test("is stopped when the evaluator left it", async () => {
    const place = await scene("");
    const left = `setsid sh -c 'trap "" TERM; sleep 300; : ${place.marker}' & sleep 0.2`;
    const finished = await run(place, "sh", "-c", left).finished;
    expect(report(finished)).toMatchObject({ verdict: "pass", evaluator: { code: 0, escaped: 2 } });
    expect(processesWith(place.marker)).toEqual([]);
  });

  test.each(["this program", "its supervisor"])(
    "is stopped when %s is killed by SIGKILL",
    async (who) => {
      const place = await scene("stubborn=1 children=1");
      const { child, finished } = run(place, ...slowEvaluator(place));
      await eventually(() => evaluating(place), "the evaluator runs");
      if (who === "this program") child.kill("SIGKILL");
      else process.kill(supervisorOf(appGroup(place) ?? -1), "SIGKILL");
      await finished;
      await eventually(
        () => processesWith(place.marker).length === 0,
        "nothing of the app is left",
      );
    },
  );

  test("is stopped by the outer run when it belongs to a run within its evaluator", async () => {
    const [outer, inner] = [await scene(""), await scene("stubborn=1")];
    const { directory } = inner;
    const files = `--project ${directory} --config ${directory}/automation.json --ledger ${directory}/ledger`;
    const evaluator = `sh -c 'touch ${directory}/evaluating; sleep 60'`;
    const ready = `until [ -e ${directory}/evaluating ]; do sleep 0.1; done`;
    const script = `node ${bundledHarness()} app run ${files} -- ${evaluator} & ${ready}`;
    const finished = await run(outer, "sh", "-c", script).finished;
    expect(report(finished)).toMatchObject({ verdict: "pass" });
    await eventually(
      () => processesWith(inner.marker).length === 0,
      "nothing of the inner app is left",
    );
  });
});
