import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, expect, it } from "vitest";
import { describeOnDemand } from "./available";
import { answers, ask, readies } from "./client";
import { kill } from "./processes";
import { container, type Key, type Rig, SETS } from "./rig";
import { withRig } from "./withRig";

const within = (seconds: number) => ({ timeout: seconds * 1000, interval: 100 });

describeOnDemand("models on demand: whatever is killed, Docker says what runs", () => {
  let rig: Rig;

  withRig((made) => {
    rig = made;
  });
  beforeEach(() => rmSync(join(rig.folder, "state/failed"), { recursive: true, force: true }));

  const status = async (key: Key) => (await ask(rig.address, key)).status;
  /** Answers once the unit runs again; a request that it cut is asked anew, as clients do. */
  const served = (key: Key) => expect.poll(() => status(key), within(60)).toBe(200);
  const process = (...words: string[]) => {
    const found = rig.unit
      .processes()
      .find(({ args }) => words.every((word) => args.some((each) => each.endsWith(word))));
    if (found === undefined) throw new Error(`no process of ${words.join(" ")}`);
    return found.pid;
  };
  const llamaSwap = () => process("llama-swap", "-config");
  const startOf = (key: Key) => process("on-demand.py", "start", container(key));
  const docker = (...args: string[]) => rig.daemon.docker(...args);
  const events = (event: string) =>
    rig.events().flatMap((each) => (each.event === event ? [each.server] : []));

  it("llama-swap is killed: all is stopped, and what is asked for next has its room", async () => {
    await readies(rig.address, "c");
    kill(llamaSwap());
    await served("a");
    expect(await rig.running()).toEqual(["a"]);
  });

  it("the wrapper's `run` is killed: the same", async () => {
    await readies(rig.address, "c");
    kill(rig.unit.pid());
    await expect.poll(() => answers(rig.address), within(30)).toBe(false);
    await served("a");
    expect(await rig.running()).toEqual(["a"]);
  });

  it("a `start` is killed while its server runs: another one that is asked for stops it first", async () => {
    await readies(rig.address, "c");
    kill(startOf("c"));
    expect(await status("a")).toBe(200);
    expect(await rig.running()).toEqual(["a"]);
    expect(rig.events().findLast(({ event }) => event === "start")).toMatchObject({ stops: ["c"] });
  });

  it("a `start` is killed while its server runs: asked for again, it is taken as it runs", async () => {
    await readies(rig.address, "c");
    const [startedAt, taken] = [await rig.startedAt("c"), events("taken").length];
    kill(startOf("c"));
    // One that comes before llama-swap has noticed is answered as before.
    const askedAgain = async () => [await status("c"), events("taken").length];
    await expect.poll(askedAgain, within(10)).toEqual([200, taken + 1]);
    expect(await rig.startedAt("c")).toBe(startedAt);
  });

  it("a `start` is killed while its server runs: the next look takes it over", async () => {
    await readies(rig.address, "c");
    const [startedAt, taken] = [await rig.startedAt("c"), events("taken").length];
    kill(startOf("c"));
    await expect.poll(() => events("taken").length, within(45)).toBe(taken + 1);
    expect(await rig.startedAt("c")).toBe(startedAt);
    expect(await status("a")).toBe(200);
    expect(await rig.running()).toEqual(["a"]);
  });

  it("a `start` is killed while its server starts: the client gets an error, and nothing runs beside another", async () => {
    rig.behave("c", { startMs: 5000 });
    const asked = ask(rig.address, "c");
    await expect.poll(rig.open, within(20)).toEqual(["c"]);
    kill(startOf("c"));
    expect((await asked).status).toBe(500);
    expect(await status("a")).toBe(200);
    expect(await rig.running()).toEqual(["a"]);
  });

  it("a container is killed: its server is started again when it is asked for", async () => {
    await readies(rig.address, "c");
    await docker("kill", container("c"));
    await served("c");
    expect(events("failed")).toEqual([]);
  });

  it("a container is stopped by hand while it starts: one sentence, and no failure is kept", async () => {
    rig.behave("c", { startMs: 5000 });
    const asked = ask(rig.address, "c");
    await expect.poll(rig.open, within(20)).toEqual(["c"]);
    await docker("stop", container("c"));
    const { status: code, text } = await asked;
    expect([code, JSON.parse(text).error.message]).toEqual([
      503,
      expect.stringMatching(/^org\/model-c did not start: its container ended with \d+ after/),
    ]);
    rig.behave("c", {});
    await served("c");
  });

  it.each([
    ["idle", async () => {}],
    ["running", async () => void (await readies(rig.address, "c"))],
  ])("a container is replaced while it is %s: the new one is started", async (_, before) => {
    await before();
    await docker("rm", "--force", container("c"));
    const id = await rig.create("c");
    await served("c");
    expect(await docker("inspect", "--format", "{{.Id}} {{.State.Running}}", container("c"))).toBe(
      `${id} true`,
    );
  });

  it("a container is replaced while it starts: one sentence, and the new one is started", async () => {
    rig.behave("c", { startMs: 5000 });
    const asked = ask(rig.address, "c");
    await expect.poll(rig.open, within(20)).toEqual(["c"]);
    await docker("rm", "--force", container("c"));
    await rig.create("c");
    expect(await asked).toMatchObject({ status: 503 });
    rig.behave("c", {});
    await served("c");
  });

  it("no container: a sentence at once, each time, and nothing is stopped for it", async () => {
    await readies(rig.address, "a");
    const startedAt = await rig.startedAt("a");
    await docker("rm", container("c"));
    for (const _ of [1, 2]) {
      const { status: code, text, seconds } = await ask(rig.address, "c");
      expect([code, JSON.parse(text).error.message]).toEqual([
        503,
        "org/model-c did not start: there is no container dgx-vllm-c",
      ]);
      expect(seconds).toBeLessThan(3);
    }
    await rig.create("c");
    await served("a");
    expect(await rig.startedAt("a")).toBe(startedAt);
  });

  it("one is started by hand where it has no room: its gate stays closed, and the next look stops it", async () => {
    await readies(rig.address, "c");
    await docker("start", container("a"));
    await expect.poll(rig.running, within(5)).toEqual(["a", "c"]);
    await expect.poll(rig.running, within(50)).toEqual(["c"]);
    expect(rig.open()).toEqual(["c"]);
    expect(events("orphan").at(-1)).toBe("a");
  });

  it("one is started by hand where it has room: the next look takes it over", async () => {
    await readies(rig.address, "a");
    await docker("start", container("b"));
    const startedAt = await rig.startedAt("b");
    await expect.poll(() => events("taken").at(-1), within(50)).toBe("b");
    expect(await status("b")).toBe(200);
    expect(await rig.startedAt("b")).toBe(startedAt);
  });

  it("one is started by hand, then another is asked for: it is stopped first", async () => {
    await docker("start", container("b"));
    expect(await status("c")).toBe(200);
    expect(await rig.running()).toEqual(["c"]);
  });

  it("a server isn't ready in time: it is stopped, and says so", async () => {
    rig.declare({ startWithin: 4 });
    rig.behave("c", { startMs: 60_000 });
    const { status: code, text } = await ask(rig.address, "c");
    expect([code, JSON.parse(text).error.message]).toEqual([
      503,
      expect.stringMatching(
        /^org\/model-c did not start: it was not ready within 4 s: .*; serving logs c$/,
      ),
    ]);
    expect(await rig.running()).toEqual([]);
  });

  it("a failure is forgotten after its time", async () => {
    rig.declare({ retryAfter: 6 });
    rig.behave("c", { fails: "ValueError: no" });
    expect(await status("c")).toBe(503);
    rig.behave("c", {});
    await served("c");
  });

  it("a gate whose starts are spent is heard at once", async () => {
    const spent = join(rig.folder, "shared", `${container("c")}.starts`);
    const id = await docker("inspect", "--format", "{{.Config.Hostname}}", container("c"));
    writeFileSync(spent, `${id}\nspent 1000\n`);
    try {
      const { status: code, text, seconds } = await ask(rig.address, "c");
      expect([code, JSON.parse(text).error.message]).toEqual([
        503,
        expect.stringContaining("start gate: closed: 1000 starts within an hour failed"),
      ]);
      expect(seconds).toBeLessThan(8);
    } finally {
      rmSync(spent);
    }
  });

  it("the unit is stopped: nothing is left", async () => {
    await readies(rig.address, "a");
    await readies(rig.address, "b");
    await rig.unit.stop();
    expect(await rig.running()).toEqual([]);
    expect(rig.unit.processes()).toEqual([]);
    rig.unit.start();
  });

  it.each([
    ["stopped", () => rig.daemon.stop()],
    ["killed", () => rig.daemon.kill()],
  ])("the daemon is %s and starts again: what is asked for next has its room", async (_, ends) => {
    await readies(rig.address, "c");
    await ends();
    await sleep(1500);
    await rig.daemon.start();
    await served("a");
    const running = await rig.running();
    expect(SETS.some((set) => running.every((key) => set.includes(key)))).toBe(true);
    expect(running).toContain("a");
  });

  it.each([
    ["stopped", () => rig.daemon.stop()],
    ["killed", () => rig.daemon.kill()],
  ])(
    "with live-restore the daemon is %s: the server goes on, and llama-swap still has it",
    async (_, ends) => {
      writeFileSync(join(rig.folder, "daemon.json"), '{"live-restore":true}');
      try {
        await rig.daemon.stop();
        await rig.daemon.start();
        await served("c");
        const [startedAt, taken] = [await rig.startedAt("c"), events("taken").length];
        const stream = ask(rig.address, "c", { stream: true, tenths: 60 });
        await ends();
        await sleep(1500);
        await rig.daemon.start();
        expect(await stream).toMatchObject({ status: 200, whole: true });
        expect(await status("c")).toBe(200);
        expect([await rig.startedAt("c"), events("taken").length]).toEqual([startedAt, taken]);
        expect(await status("a")).toBe(200);
        expect(await rig.running()).toEqual(["a"]);
      } finally {
        writeFileSync(join(rig.folder, "daemon.json"), "{}");
        await rig.daemon.stop();
        await rig.daemon.start();
      }
    },
  );
});
