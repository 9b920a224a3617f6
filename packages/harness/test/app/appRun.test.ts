import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { bundledHarness } from "../../../../test/cli/harness/bundledServing";
import { listening } from "../../../../test/stand-in/listening";
import { eventually, groupMembers, processesWith, start } from "../processes";
import {
  appGroup,
  changeApp,
  evaluating,
  report,
  run,
  type Scene,
  SERVER,
  scene,
  slowEvaluator,
} from "./scene";

vi.setConfig({ testTimeout: 40_000 });

describe.concurrent("the states table of the specification", () => {
  test("launching, ready, stopping, stopped; the evaluator gets ready.url as the address", async () => {
    const place = await scene("");
    const finished = await run(place, "sh", "-c", "echo evaluator at $HX_APP_URL >&2").finished;
    expect(report(finished)).toMatchObject({
      verdict: "pass",
      states: ["not launched", "launching", "ready", "stopping", "stopped"],
      endedBy: "term",
      evaluator: { code: 0 },
    });
    expect(finished.code).toBe(0);
    expect(finished.stderr).toBe(`evaluator at ${place.url}\n`);
    expect(processesWith(place.marker)).toEqual([]);
    // "output is captured to the ledger"
    expect(readFileSync(join(place.directory, ".hx/ledger/app.log"), "utf8")).toBe(
      "app began\nTERM taken\n",
    );
  });

  test("the evaluator gets the interface where there is one", async () => {
    const place = await scene("");
    changeApp(place, { interface: `http://127.0.0.1:${place.port}/api` });
    const finished = await run(place, "sh", "-c", "echo $HX_APP_URL >&2").finished;
    expect(finished.stderr).toBe(`http://127.0.0.1:${place.port}/api\n`);
  });

  test("the probe must fail before launch: an app that answers already is refused, and nothing is started", async () => {
    const place = await scene("");
    // In tests side by side `httpServer` would end with another one.
    const server = createServer((_, response) => response.writeHead(500).end());
    const { close } = await listening(server, place.port);
    const finished = await run(place, "touch", "evaluated").finished;
    await close();
    expect(finished.code).toBe(1);
    expect(report(finished)).toMatchObject({
      verdict: "fail",
      states: ["not launched"],
      evaluator: null,
    });
    expect(existsSync(join(place.directory, "evaluated"))).toBe(false);
    expect(report(finished).failure).toContain(
      `something answered at ${place.url} before the app was launched`,
    );
  });

  test("a readiness command that succeeds before launch is refused", async () => {
    const place = await scene("", {
      interface: "http://127.0.0.1:1/",
      ready: { command: "true", timeout_sec: 2 },
    });
    const finished = await run(place, "true").finished;
    expect(report(finished)).toMatchObject({ states: ["not launched"], verdict: "fail" });
    expect(report(finished).failure).toContain("succeeded before the app was launched");
  });

  test("a readiness command that can't be run is no proof of absence", async () => {
    const place = await scene("", {
      interface: "http://127.0.0.1:1/",
      ready: { command: "no-such-command-here", timeout_sec: 2 },
    });
    expect(report(await run(place, "true").finished).failure).toBe(
      "readiness can't be probed: the readiness command exited 127",
    );
  });

  test("readiness by command needs the interface to answer as well", async () => {
    const place = await scene("slow=600");
    changeApp(place, {
      interface: `http://127.0.0.1:${place.port}/`,
      ready: { command: "test -e launched", timeout_sec: 8 },
      command: `touch launched; exec node ${SERVER} ${place.marker} ${place.port} slow=600`,
    });
    const finished = await run(
      place,
      "sh",
      "-c",
      `curl -sf $HX_APP_URL >/dev/null || wget -qO- $HX_APP_URL`,
    ).finished;
    expect(report(finished)).toMatchObject({ verdict: "pass" });
  });

  test("a slow start is waited for", async () => {
    const place = await scene("slow=1500");
    expect(report(await run(place, "true").finished).verdict).toBe("pass");
  });

  test("an app that is not ready within ready.timeout_sec is stopped and fails", async () => {
    const place = await scene("sick");
    // Long enough for the app to have started, so that its answer and not its silence is the last
    // thing seen.
    changeApp(place, { ready: { url: place.url, timeout_sec: 3 } });
    const finished = await run(place, "touch", "evaluated").finished;
    expect(finished.code).toBe(1);
    expect(report(finished)).toMatchObject({
      // The last probe has only the time that is left; on a busy machine it may end without an
      // answer.
      failure: expect.stringMatching(
        /^the app was not ready within 3 s \(last probe: (HTTP 503|no answer in time)\); its output is in \S+app\.log$/,
      ),
      states: ["not launched", "launching", "stopping", "stopped"],
      evaluator: null,
    });
    expect(processesWith(place.marker)).toEqual([]);
  });

  test("an app that ends while launching fails at once", async () => {
    const place = await scene("slow=60000 dies-after=100");
    const finished = await run(place, "true").finished;
    expect(report(finished).failure).toContain("the app ended before it was ready (it exited 7;");
    expect(report(finished).endedBy).toBe("itself");
  });

  test("an answer after the app's own group has ended is not the app's", async () => {
    const place = await scene("");
    // The server leaves the group for a session of its own, which the driver does not own, and
    // answers once the group is gone.
    const server = `exec node ${SERVER} ${place.marker} ${place.port} dies-after=3000`;
    changeApp(place, {
      command: `setsid sh -c 'while kill -0 $0 2>/dev/null; do sleep 0.05; done; ${server}' $$ & sleep 0.1`,
    });
    const finished = await run(place, "true").finished;
    expect(report(finished).verdict).toBe("fail");
    expect(report(finished).failure).toMatch(
      /the app ended before it was ready|process group has ended/,
    );
  });

  test("TERM is sent first; an app and children that ignore it are killed after stop_timeout_sec", async () => {
    const place = await scene("ignore-term children=3");
    const finished = await run(place, "true").finished;
    expect(report(finished)).toMatchObject({ verdict: "pass", endedBy: "kill" });
    const [stopping, stopped] = JSON.parse(finished.stdout).states.slice(-2);
    const seconds = (Date.parse(stopped.at) - Date.parse(stopping.at)) / 1000;
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(seconds).toBeLessThan(3);
    expect(readFileSync(join(place.directory, ".hx/ledger/app.log"), "utf8")).toContain(
      "TERM ignored",
    );
    expect(processesWith(place.marker)).toEqual([]);
    expect(groupMembers(appGroup(place) ?? -1)).toEqual([]);
  });

  test("a zombie in the group does not count as alive", async () => {
    const place = await scene("zombie");
    expect(report(await run(place, "sleep", "0.3").finished).verdict).toBe("pass");
    expect(processesWith(place.marker)).toEqual([]);
  });
});

describe.concurrent("whatever happens, no process of the group is left", () => {
  test("the evaluator fails: exit 1, and its code is in the report", async () => {
    const place = await scene("children=2");
    const finished = await run(place, "sh", "-c", "exit 3").finished;
    expect(finished.code).toBe(1);
    expect(report(finished)).toMatchObject({
      failure: "the evaluator exited 3",
      evaluator: { code: 3 },
    });
    expect(processesWith(place.marker)).toEqual([]);
  });

  test("the evaluator can't be started", async () => {
    const place = await scene("");
    const finished = await run(place, "./no-such-evaluator").finished;
    expect(finished.code).toBe(1);
    expect(report(finished).failure).toContain("the evaluator could not be started");
    expect(processesWith(place.marker)).toEqual([]);
  });

  test("the evaluator takes longer than conformance.timeout_sec", async () => {
    const place = await scene("");
    const config = JSON.parse(readFileSync(join(place.directory, "automation.json"), "utf8"));
    config.verification.conformance = { evaluator: "local", timeout_sec: 1 };
    writeFileSync(join(place.directory, "automation.json"), JSON.stringify(config));
    const finished = await run(place, ...slowEvaluator(place)).finished;
    expect(report(finished).failure).toBe("the evaluator took longer than 1 s");
    expect(processesWith(place.marker)).toEqual([]);
  });

  test("the app dies under the evaluator: the evaluator is ended too", async () => {
    const place = await scene("dies-after=900");
    const finished = await run(place, ...slowEvaluator(place)).finished;
    expect(report(finished)).toMatchObject({
      verdict: "fail",
      failure:
        "the app ended while it was in use (it exited 7); its output is in .hx/ledger/app.log",
    });
    expect(processesWith(place.marker)).toEqual([]);
  });

  test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
    "%s ends the app first, then this program",
    async (signal) => {
      const place = await scene("children=1");
      const { child, finished } = run(
        place,
        "sh",
        "-c",
        `touch ${place.directory}/evaluating; sleep 60; : ${place.marker}`,
      );
      await eventually(() => evaluating(place), "the evaluator runs");
      child.kill(signal);
      const end = await finished;
      expect(end.signal).toBe(signal);
      expect(end.stderr).toContain("interrupted; app stopped\n");
      const ignored = join(place.directory, ".hx/ledger/.gitignore");
      expect(readFileSync(ignored, "utf8")).toBe("*\n");
      expect(processesWith(place.marker)).toEqual([]);
    },
  );

  test.each([
    ["before the app is launched", "slow=5000", () => true],
    [
      "while the app is launching",
      "slow=60000 children=2",
      (place: Scene) => appGroup(place) !== undefined,
    ],
    [
      "while the evaluator runs, with children that ignore TERM",
      "ignore-term children=2",
      (place: Scene) => evaluating(place),
    ],
  ])("this program is killed by SIGKILL %s", async (_, options, reached) => {
    const place = await scene(options);
    const { child, finished } = run(place, ...slowEvaluator(place));
    await eventually(() => reached(place), "the step is reached");
    child.kill("SIGKILL");
    await finished;
    await eventually(() => processesWith(place.marker).length === 0, "nothing of the app is left");
    const pgid = appGroup(place);
    if (pgid !== undefined) expect(groupMembers(pgid)).toEqual([]);
  });

  test.each([100, 250, 400, 600, 900])(
    "this program is killed by SIGKILL after %i ms",
    async (delay) => {
      const place = await scene("ignore-term children=1 slow=200");
      const { child, finished } = run(place, ...slowEvaluator(place));
      await new Promise((resolve) => setTimeout(resolve, delay));
      child.kill("SIGKILL");
      await finished;
      // Long enough for an app that was being launched at that moment to have shown itself.
      await new Promise((resolve) => setTimeout(resolve, 300));
      await eventually(
        () => processesWith(place.marker).length === 0,
        "nothing of the app is left",
      );
    },
  );

  test("an app that never stops forking, with TERM ignored by all of it", async () => {
    const place = await scene("");
    const server = `exec node ${SERVER} ${place.marker} ${place.port} ignore-term`;
    const bomb = `trap '' TERM; (while :; do sleep 300 & sleep 0.02; done) & (while :; do sleep 300 & sleep 0.02; done) &`;
    changeApp(place, { command: `${bomb} ${server}` });
    const finished = await run(place, "sleep", "0.5").finished;
    expect(report(finished)).toMatchObject({ verdict: "pass", endedBy: "kill" });
    expect(groupMembers(appGroup(place) ?? -1)).toEqual([]);
  });

  test("the app itself is killed by SIGKILL and leaves children: they are ended too", async () => {
    const place = await scene("children=2");
    const { finished } = run(place, "sh", "-c", `touch evaluating; sleep 1`);
    await eventually(() => evaluating(place), "the evaluator runs");
    const leader = appGroup(place) ?? -1;
    process.kill(leader, "SIGKILL");
    await finished;
    expect(groupMembers(leader)).toEqual([]);
    expect(processesWith(place.marker)).toEqual([]);
  });

  test("the supervisor of the app is killed by SIGKILL: this program ends the group itself", async () => {
    const place = await scene("children=2");
    const { finished } = run(place, ...slowEvaluator(place));
    await eventually(() => evaluating(place), "the evaluator runs");
    const leader = appGroup(place) ?? -1;
    const parent = Number(
      readFileSync(`/proc/${leader}/stat`, "utf8").split(") ")[1]?.split(" ")[1],
    );
    process.kill(parent, "SIGKILL");
    expect((await finished).code).toBe(1);
    expect(processesWith(place.marker)).toEqual([]);
    expect(groupMembers(leader)).toEqual([]);
  });
});

describe.concurrent("wrong use", () => {
  test.each([
    [["app", "run", "--config", "automation.json"], "missing required argument"],
    [["app", "run", "--", "true"], "give exactly one of --config FILE and --contract FILE"],
    [["app", "run", "--config", "absent.json", "--", "true"], "absent.json: no such file"],
    [
      ["app", "run", "--config", "empty.json", "--", "true"],
      "the config declares no app (verification.app)",
    ],
  ])("%j", async (args, message) => {
    const place = await scene("");
    writeFileSync(join(place.directory, "empty.json"), "{}");
    const finished = await start("node", [bundledHarness(), ...args], place.directory).finished;
    expect(finished.code).toBe(2);
    expect(finished.stderr).toContain(message);
    expect(finished.stderr).not.toContain("    at ");
  });
});
