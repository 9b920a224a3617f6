import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../../test/layers/temporaryFolder";
import { healthcheckProbe } from "../../providers/probe";

const run = (command: string | undefined, timeoutSec = 5) =>
  healthcheckProbe("p", command, { ...process.env, TOKEN: "hunter2SECRET" }, timeoutSec);

describe("a provider's healthcheck", () => {
  it.each([
    ["exit 0", "pass", "the command exits with 0"],
    ["exit 7", "fail", "the command exits with 7"],
    ["no-such-command-anywhere", "fail", "the command exits with 127"],
    ["kill -9 $$", "fail", "the command was killed"],
    ['[ "$TOKEN" = hunter2SECRET ]', "pass", "the command exits with 0"],
    [undefined, "skip", "no healthcheck is set"],
    ["", "skip", "no healthcheck is set"],
  ])("%s: %s", async (command, status, detail) => {
    expect(await run(command)).toMatchObject({ name: "p: healthcheck", status, detail });
  });

  it("shows nothing of what the command prints", async () => {
    expect(JSON.stringify(await run("echo $TOKEN; echo $TOKEN >&2; exit 3"))).not.toContain(
      "SECRET",
    );
  });

  it("ends a command that hangs, and what it started", async () => {
    const file = join(temporaryFolder("health-"), "pid");
    const result = await run(`(trap '' TERM; sleep 3600 & echo $! > ${file}; wait) & wait`, 1);
    expect(result).toMatchObject({ status: "fail", detail: "the command did not end within 1 s" });
    expect(await gone(Number(readFileSync(file, "utf8")))).toBe(true);
  });

  it("leaves nothing of a command that ends and leaves something behind", async () => {
    const file = join(temporaryFolder("health-"), "pid");
    expect((await run(`sleep 60 & echo $! > ${file}`)).status).toBe("pass");
    expect(await gone(Number(readFileSync(file, "utf8")))).toBe(true);
  });
});

/** Whether a process ends soon; a zombie that nobody has waited for yet counts as ended. */
async function gone(pid: number): Promise<boolean> {
  for (let tries = 0; tries < 40; tries++) {
    try {
      const state = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1];
      if (state?.startsWith("Z") === true) return true;
    } catch {
      return true;
    }
    await wait(50);
  }
  return false;
}
