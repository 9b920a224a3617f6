import { spawn } from "node:child_process";
import { readFileSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { mustRun } from "../../layers/run";
import { describeOnDemand } from "./available";
import { answers, ask, readies, unload } from "./client";
import { kill } from "./processes";
import { container, type Key, type Rig } from "./rig";
import { withRig } from "./withRig";

const within = (seconds: number) => ({ timeout: seconds * 1000, interval: 50 });

describeOnDemand(
  "models on demand: a start that is ended at any moment, and parts that fail",
  () => {
    let rig: Rig;

    withRig((made) => {
      rig = made;
    });

    const status = async (key: Key) => (await ask(rig.address, key)).status;
    const starts = (key: Key) =>
      rig.unit
        .processes()
        .filter(({ args }) => args.includes("start") && args.includes(container(key)));
    const began = (key: Key) => expect.poll(() => starts(key).length, within(20)).toBe(1);
    const started = (key: Key) =>
      rig.events().filter(({ event, server }) => event === "start" && server === key).length;
    const dockerd = () => Number(readFileSync(join(rig.folder, "dockerd.pid"), "utf8"));

    it("ended while it waits for the lock: it starts nothing", async () => {
      const before = started("c");
      const lock = spawn("flock", [join(rig.folder, "state/lock"), "sleep", "60"], {
        detached: true,
      });
      try {
        const asked = ask(rig.address, "c");
        await began("c");
        await sleep(1000);
        await unload(rig.address, "c");
        expect((await asked).status).toBe(500);
        expect(starts("c")).toEqual([]);
      } finally {
        kill(-(lock.pid ?? 0));
      }
      expect([await rig.running(), started("c")]).toEqual([[], before]);
    });

    it("ended while it stops another: that one isn't taken while it ends, and starts anew", async () => {
      rig.behave("a", { stopMs: 4000 });
      await readies(rig.address, "a");
      const startedAt = await rig.startedAt("a");
      const asked = ask(rig.address, "c");
      await began("c");
      await expect.poll(rig.open, within(20)).toEqual(["a"]);
      await sleep(1000);
      await unload(rig.address, "c");
      expect((await asked).status).toBe(500);
      expect(await status("a")).toBe(200);
      expect(await rig.startedAt("a")).not.toBe(startedAt);
      expect(await rig.running()).toEqual(["a"]);
    });

    it("ended just after its container started: that is stopped", async () => {
      rig.behave("c", { startMs: 5000 });
      const asked = ask(rig.address, "c");
      await expect.poll(rig.running, within(20)).toEqual(["c"]);
      await unload(rig.address, "c");
      expect((await asked).status).toBe(500);
      await expect.poll(rig.running, within(20)).toEqual([]);
    });

    it("ended while it says why it did not start: the next one says so again", async () => {
      rig.behave("c", { fails: "ValueError: no" });
      expect(await status("c")).toBe(503);
      await unload(rig.address, "c");
      expect(await status("c")).toBe(503);
      expect(await rig.running()).toEqual([]);
    });

    it("asked for while it is stopped after its idle time: it waits, and starts anew", async () => {
      rig.behave("d", { stopMs: 5000 });
      await readies(rig.address, "d");
      const startedAt = await rig.startedAt("d");
      await unload(rig.address, "d");
      const marked = () =>
        readFileSync(join(rig.folder, "state/letgo/d"), "utf8").includes("stopping");
      await expect.poll(marked, within(10)).toBe(true);
      await sleep(500);
      expect(await status("d")).toBe(200);
      expect(await rig.startedAt("d")).not.toBe(startedAt);
    });

    it("Docker hangs: a sentence, and once it answers again so does the server", async () => {
      await readies(rig.address, "a");
      const pid = dockerd();
      kill(pid, "SIGSTOP");
      try {
        const { status: code, text } = await ask(rig.address, "b");
        expect([code, JSON.parse(text).error.message]).toEqual([
          503,
          "org/model-b did not start: `docker inspect` did not answer within 30 s",
        ]);
        expect(await status("a")).toBe(200);
      } finally {
        kill(pid, "SIGCONT");
      }
      // Its sentence is said until a second after the last answer.
      await expect.poll(() => status("b"), { interval: 2_000, timeout: 60_000 }).toBe(200);
      expect(await rig.running()).toEqual(["a", "b"]);
    });

    it("a full disk of the state folder: servers start, give way and end as ever", async () => {
      const state = join(rig.folder, "state");
      await rig.unit.stop();
      await mustRun("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", state]);
      rig.unit.start();
      try {
        await expect.poll(() => answers(rig.address), within(30)).toBe(true);
        const { bavail, bsize } = statfsSync(state);
        writeFileSync(join(state, "full"), Buffer.alloc(bavail * bsize));
        expect(await status("a")).toBe(200);
        expect(await status("c")).toBe(200);
        expect(await rig.running()).toEqual(["c"]);
        expect(await status("a")).toBe(200);
        expect(await rig.running()).toEqual(["a"]);
      } finally {
        await rig.unit.stop();
        await mustRun("umount", [state]);
        rig.unit.start();
      }
    });

    it("a state folder that is no folder: a sentence, and nothing runs", async () => {
      await rig.unit.stop();
      const state = join(rig.folder, "state");
      await mustRun("mv", [state, `${state}-before`]);
      writeFileSync(state, "");
      rig.unit.start();
      try {
        await expect.poll(() => answers(rig.address), within(30)).toBe(true);
        const { status: code, text } = await ask(rig.address, "a");
        expect([code, JSON.parse(text).error.message]).toEqual([
          503,
          `org/model-a did not start: the lock in ${state} can't be opened: File exists`,
        ]);
      } finally {
        await rig.unit.stop();
        await mustRun("rm", [state]);
        await mustRun("mv", [`${state}-before`, state]);
        rig.unit.start();
      }
    });
  },
);
