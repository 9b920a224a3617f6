import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import {
  appGroup,
  changeApp,
  evaluating,
  report,
  run,
  type Scene,
  scene,
  slowEvaluator,
} from "../../packages/harness/test/app/scene";
import {
  childrenOf,
  eventually,
  groupMembers,
  killTogether,
  processesWith,
  type Started,
  start,
} from "../../packages/harness/test/processes";
import { bundledHarness } from "../cli/harness/bundledServing";

// Two runs each, one behind the other.
vi.setConfig({ testTimeout: 60_000 });

/** Kills this program and all its supervisors so that none of them sees another die. */
async function killAll({ child }: Started): Promise<void> {
  const driver = child.pid ?? 0;
  expect(childrenOf(driver)).not.toEqual([]);
  // What they leave running holds their pipes open, so it is not their closing that is waited for.
  const gone = new Promise((resolve) => child.once("exit", resolve));
  killTogether(driver);
  await gone;
}

const events = ({ directory }: Scene) =>
  readFileSync(join(directory, ".hx/ledger/events.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
const running = ({ directory }: Scene) => readdirSync(join(directory, ".hx/ledger/running"));

describe.concurrent("this program and its supervisors are killed by SIGKILL at the same moment", () => {
  test.each([
    [
      "while the app is launching",
      "slow=60000 children=1 stubborn=1",
      (p: Scene) => appGroup(p) !== undefined,
    ],
    ["while the evaluator runs", "ignore-term children=1 stubborn=1", evaluating],
  ])("%s: the next run ends all of it and goes on", async (_, options, reached) => {
    const place = await scene(options);
    const killed = run(place, ...slowEvaluator(place));
    await eventually(
      () => reached(place) && processesWith(place.marker).length > 2,
      "the step is reached",
    );
    await killAll(killed);
    const group = appGroup(place) ?? -1;
    expect(groupMembers(group)).not.toEqual([]);

    // What was left would answer in the place of the app that is started now.
    changeApp(place, { command: "true" });
    const next = await run(place, "true").finished;
    expect(groupMembers(group)).toEqual([]);
    expect(processesWith(place.marker)).toEqual([]);
    expect(next.stderr).toContain(
      "An earlier run was killed and left processes of its command running: they were ended.",
    );
    const ended = events(place).filter(({ event }) => event === "leftover ended");
    // The app and its children ignore TERM; the evaluator, where there was one, does not.
    expect(ended.map(({ by }) => by)).toContain("kill");
    expect(running(place)).toEqual([]);
    expect(report(next).failure).toContain("the app ended before it was ready");
  });

  test.each([0, 120, 400])("%i ms after the start, whatever it was doing", async (delay) => {
    const place = await scene("ignore-term children=1");
    const killed = run(place, ...slowEvaluator(place));
    await eventually(() => childrenOf(killed.child.pid ?? 0).length > 0, "there is a supervisor");
    await new Promise((resolve) => setTimeout(resolve, delay));
    await killAll(killed);
    const next = await run(place, "true").finished;
    expect(processesWith(place.marker)).toEqual([]);
    expect(report(next)).toMatchObject({ verdict: "pass" });
    expect(running(place)).toEqual([]);
  });

  test("under a coverage gate: the next gate ends its command", async () => {
    const place = await scene("");
    const config = {
      verification: {
        coverage: {
          command: `sleep 300 & sleep 300; : ${place.marker}`,
          artifact: "lcov.info",
          parser: "lcov",
          baseline: "none",
          min_line_pct: 1,
          timeout_sec: 60,
        },
      },
    };
    const write = () =>
      writeFileSync(join(place.directory, "coverage.json"), JSON.stringify(config));
    write();
    const gate = () =>
      start(
        "node",
        [bundledHarness(), "gate", "coverage", "--config", "coverage.json"],
        place.directory,
      );
    const killed = gate();
    await eventually(() => processesWith(place.marker).length > 1, "the command runs");
    await killAll(killed);
    expect(processesWith(place.marker)).not.toEqual([]);
    config.verification.coverage.command = "false";
    write();
    expect((await gate().finished).stderr).toContain("An earlier run was killed");
    expect(processesWith(place.marker)).toEqual([]);
  });
});

describe("a run that lives", () => {
  test("is not touched by another one with the same ledger", async () => {
    const place = await scene("children=1");
    const until = "touch evaluating; until [ -e enough ]; do sleep 0.1; done";
    const first = run(place, "sh", "-c", `cd ${place.directory}; ${until}`);
    await eventually(() => evaluating(place), "the evaluator runs");
    const second = await run(place, "true").finished;
    writeFileSync(join(place.directory, "enough"), "");
    expect(report(second).failure).toContain(
      `something answered at ${place.url} before the app was launched`,
    );
    expect(second.stderr).toBe("");
    expect(report(await first.finished)).toMatchObject({ verdict: "pass", endedBy: "kill" });
  });
});
