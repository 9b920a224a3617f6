import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { eachLine, run, runAtOnce, start } from "@local-serving/base/commandLine/run";
import { describe, expect, test } from "vitest";

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
    const endless = { code: null, stopped: "output" };
    expect(await run(["yes"], BOUNDS)).toMatchObject(endless);
    expect(await run(["sh", "-c", "yes >&2"], BOUNDS)).toMatchObject(endless);
  });

  test("has a session of its own unless it stays in ours, where it is stopped too", async () => {
    const session = (stat: string) => stat.split(" ")[5];
    const ours = session(readFileSync("/proc/self/stat", "utf8"));
    const its = async (inSession: boolean) =>
      session((await run(["cat", "/proc/self/stat"], { ...BOUNDS, inSession })).out);
    expect(await its(false)).not.toBe(ours);
    expect(await its(true)).toBe(ours);
    const script = "echo $$; exec sleep 600";
    const { out, stopped } = await run(["sh", "-c", script], {
      ...BOUNDS,
      seconds: 0.5,
      inSession: true,
    });
    expect(stopped).toBe("timeout");
    await expect.poll(() => isAlive(Number(out))).toBe(false);
  });

  test("at once gives the same, whether it starts or not", () => {
    expect(runAtOnce(["sh", "-c", 'echo "$X"; echo err >&2; exit 3'], { X: "x" })).toEqual({
      code: 3,
      out: "x\n",
      err: "err\n",
    });
    expect(runAtOnce(["/none/program"])).toEqual({ code: null, out: "", err: "" });
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
  const module = JSON.stringify(join(__dirname, "../../packages/base/commandLine/run.ts"));
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
