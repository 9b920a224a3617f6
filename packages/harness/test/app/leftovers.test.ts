import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../../../test/layers/temporaryFolder";
import { jobMark, marked } from "../../app/jobProcesses";
import { identityOf, JobRecords, processPlace, stillRuns } from "../../app/jobRecords";
import { endLeftovers } from "../../app/leftovers";

const DEAD = { pid: 2 ** 22 - 1, start: "1" };
const HERE = processPlace();

/** A process of a session of its own, with or without a mark. */
function sleeper(mark?: string): { child: ChildProcess; pid: number; lives: () => boolean } {
  const env = { PATH: process.env.PATH ?? "" };
  const child = spawn("sleep", ["300"], {
    detached: true,
    stdio: "ignore",
    env: mark === undefined ? env : marked(env, jobMark(mark)),
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const pid = child.pid ?? 0;
  const identity = identityOf(pid);
  return { child, pid, lives: () => stillRuns(identity) };
}

function recordOf(mark: string, overlay: object = {}) {
  const directory = temporaryFolder("leftovers-");
  const file = join(directory, `${mark}.json`);
  const record = { mark, place: HERE, driver: DEAD, supervisor: DEAD, graceMs: 300, ...overlay };
  writeFileSync(file, JSON.stringify(record));
  return { jobs: new JobRecords(directory), kept: () => existsSync(file) };
}

describe("what a record of a run that was killed leads to", () => {
  test("every process with its mark is ended, and no other", async () => {
    const mark = randomUUID();
    const [ours, nested] = [sleeper(mark), sleeper(`${randomUUID()}:${mark}:${randomUUID()}`)];
    const others = [sleeper(), sleeper(randomUUID()), sleeper(`x${mark}`)];
    const { jobs, kept } = recordOf(mark);
    expect(await endLeftovers(jobs)).toEqual([{ processes: 2, by: "term" }]);
    expect([ours.lives(), nested.lives()]).toEqual([false, false]);
    expect(others.map(({ lives }) => lives())).toEqual([true, true, true]);
    expect(kept()).toBe(false);
  });

  test("the group of the very process that was started is ended although its mark is lost", async () => {
    const leader = sleeper();
    const { jobs } = recordOf(randomUUID(), { leader: identityOf(leader.pid) });
    expect(await endLeftovers(jobs)).toEqual([{ processes: 0, by: "term" }]);
    expect(leader.lives()).toBe(false);
  });

  test("a process that was given the number again is left alone", async () => {
    const other = sleeper();
    const { jobs, kept } = recordOf(randomUUID(), { leader: { pid: other.pid, start: "1" } });
    expect(await endLeftovers(jobs)).toEqual([]);
    expect([other.lives(), kept()]).toEqual([true, false]);
  });

  test.each(["driver", "supervisor"])("nothing is touched while its %s lives", async (owner) => {
    const mark = randomUUID();
    const ours = sleeper(mark);
    const { jobs, kept } = recordOf(mark, { [owner]: identityOf(process.pid) });
    expect(await endLeftovers(jobs)).toEqual([]);
    expect([ours.lives(), kept()]).toEqual([true, true]);
  });

  test("a record of another container stays, and its processes with it", async () => {
    const mark = randomUUID();
    const ours = sleeper(mark);
    const { jobs, kept } = recordOf(mark, { place: { ...HERE, namespace: "pid:[1]" } });
    expect(await endLeftovers(jobs)).toEqual([]);
    expect([ours.lives(), kept()]).toEqual([true, true]);
  });

  test("a record from before a reboot is forgotten", async () => {
    const { jobs, kept } = recordOf(randomUUID(), { place: { ...HERE, boot: "another" } });
    expect(await endLeftovers(jobs)).toEqual([]);
    expect(kept()).toBe(false);
  });

  test.each(["", "{", "null", '{"mark":"../../etc/passwd"}', '{"mark":"x","place":{}}'])(
    "a file that is not a record is skipped: %j",
    async (text) => {
      const directory = temporaryFolder("leftovers-");
      writeFileSync(join(directory, `${randomUUID()}.json`), text);
      expect(await endLeftovers(new JobRecords(directory))).toEqual([]);
    },
  );
});

describe("a record that was never finished", () => {
  const half = (text: string, secondsOld = 0) => {
    const directory = temporaryFolder("leftovers-");
    const file = join(directory, `${randomUUID()}.json.new`);
    writeFileSync(file, text);
    const time = Date.now() / 1000 - secondsOld;
    utimesSync(file, time, time);
    return { jobs: new JobRecords(directory), kept: () => existsSync(file) };
  };
  const record = (overlay: object = {}) =>
    JSON.stringify({
      mark: randomUUID(),
      place: HERE,
      driver: DEAD,
      supervisor: DEAD,
      graceMs: 300,
      ...overlay,
    });

  test.each([
    ["goes when its run is over", record(), 0, false],
    ["stays while its run lives", record({ driver: identityOf(process.pid) }), 60, true],
    ["is removed when it is cut off and nobody can still be writing it", '{"mark":', 60, false],
    ["is removed when it is empty and nobody can still be writing it", "", 60, false],
    ["stays when it is cut off but may still be written", '{"mark":', 0, true],
  ])("%s", async (_, text, secondsOld, expected) => {
    const { jobs, kept } = half(text, secondsOld);
    expect(await endLeftovers(jobs)).toEqual([]);
    expect(kept()).toBe(expected);
  });
});
