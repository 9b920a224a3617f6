import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { eachLine, run, start } from "../../commandLine/run";

const BOUNDS = { seconds: 20, largest: 1000 };

/** A shell that says the process of something it leaves in the background. */
const LEAVES_A_CHILD = "sleep 600 & echo $!";

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe("a program that is run to its end", () => {
  test("gives its output, its errors and its exit code", async () => {
    expect(await run(["sh", "-c", "echo out; echo err >&2; exit 3"], BOUNDS)).toEqual({
      code: 3,
      out: "out\n",
      err: "err\n",
    });
  });

  test("that isn't there is reported as not started", async () => {
    expect(await run(["/none/program"], BOUNDS)).toMatchObject({
      code: null,
      notStarted: "ENOENT",
    });
  });

  test("is stopped when its time is up, and when it prints without end", async () => {
    expect(await run(["sleep", "600"], { ...BOUNDS, seconds: 0.1 })).toMatchObject({
      stopped: "timeout",
    });
    expect(await run(["yes"], BOUNDS)).toMatchObject({ code: null, stopped: "output" });
  });

  test("leaves nothing behind that it started", async () => {
    const { out } = await run(["sh", "-c", `${LEAVES_A_CHILD} >/dev/null; echo $!`], BOUNDS);
    await expect.poll(() => isAlive(Number(out))).toBe(false);
  });
});

test("a program that is stopped takes with it what it started", async () => {
  const { stdout, stop } = start(["sh", "-c", `${LEAVES_A_CHILD}; wait`]);
  const [said] = await once(stdout, "data");
  stop();
  await expect.poll(() => isAlive(Number(said))).toBe(false);
});

test("Ctrl-C ends the programs that run, and then this process by that signal", async () => {
  const module = JSON.stringify(join(__dirname, "../../commandLine/run.ts"));
  const script = `require(${module}).start(["sh", "-c", "echo $$; wait; sleep 600"]).stdout.pipe(process.stdout)`;
  const ours = spawn(process.execPath, ["--import", "tsx", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [said] = await once(ours.stdout, "data");
  ours.kill("SIGINT");
  expect(await once(ours, "exit")).toEqual([null, "SIGINT"]);
  await expect.poll(() => isAlive(Number(said))).toBe(false);
});

test("both outputs come line by line in the order in which they were written", async () => {
  const lines: string[] = [];
  const { stdout, ended } = start(["sh", "-c", "echo a; echo b >&2; printf 'c\\rd'"], {
    merged: true,
  });
  eachLine(stdout, (line) => lines.push(line));
  await ended;
  expect(lines).toEqual(["a", "b", "c", "d"]);
});
